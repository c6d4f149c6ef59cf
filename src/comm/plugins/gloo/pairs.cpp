// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/plugins/gloo/pairs.h"

#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

namespace gradstep::gloo_plugin {

namespace tcp = ::gloo::transport::tcp;

namespace {

bool is_announcement(tcp::Op::Opcode kind) {
  return kind == tcp::Op::NOTIFY_SEND_READY || kind == tcp::Op::NOTIFY_RECV_READY;
}

bool goes_at_once(const tcp::Op& op) {
  return op.preamble.opcode == tcp::Op::SEND_UNBOUND_BUFFER && (op.preamble.slot & kAtOnce) != 0;
}

constexpr socklen_t length_of(const sockaddr_storage& address) {
  return address.ss_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

}  // namespace

/// Here, not in the base: until the socket is closed, events may come.
CarefulPair::~CarefulPair() {
  const std::lock_guard lock(m_);
  if (state_ != CLOSED) CarefulPair::changeState(CLOSED);
}

std::vector<char> CarefulPair::listens_at() const {
  const sockaddr_storage& place = self_.getSockaddr();
  const auto* bytes = reinterpret_cast<const char*>(&place);
  return {bytes, bytes + length_of(place)};
}

void CarefulPair::stop_listening() {
  const std::lock_guard lock(m_);
  if (state_ != LISTENING) return;
  is_client_ = true;
  device_->unregisterDescriptor(fd_, this);
  ::close(fd_);
  fd_ = -1;
}

void CarefulPair::call(const std::vector<char>& address) {
  const std::lock_guard lock(m_);
  if (ex_ != nullptr || state_ != LISTENING) return;
  try {
    sockaddr_storage place{};
    std::memcpy(&place, address.data(), std::min(sizeof place, address.size()));
    peer_ = tcp::Address(place);
    try_to_call();
  } catch (...) {
    give_up(std::current_exception());
  }
}

void CarefulPair::try_to_call() {
  const sockaddr_storage& place = peer_.getSockaddr();
  fd_ = ::socket(place.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd_ < 0) throw std::runtime_error(std::string("socket: ") + std::strerror(errno));
  state_ = CONNECTING;
  if (::connect(fd_, reinterpret_cast<const sockaddr*>(&place), length_of(place)) != 0 && errno != EINPROGRESS) {
    throw std::runtime_error("connect " + peer_.str() + ": " + std::strerror(errno));
  }
  device_->registerDescriptor(fd_, EPOLLIN | EPOLLOUT, this);
}

bool CarefulPair::wait_until_connected(std::chrono::milliseconds timeout) {
  std::unique_lock lock(m_);
  cv_.wait_for(lock, timeout, [this] { return state_ >= CONNECTED || ex_ != nullptr; });
  throwIfException();
  if (state_ == CLOSED) throw std::runtime_error("closed");
  return state_ == CONNECTED;
}

// libgloo sends without an announcement to a peer that has asked for the message. So this one is taken to have.
void CarefulPair::send_at_once(::gloo::transport::UnboundBuffer& window, std::uint64_t slot, std::size_t offset,
                               std::size_t bytes) {
  {
    const std::lock_guard lock(m_);
    throwIfException();
    tcp::Op asked;
    asked.preamble.slot = slot;
    asked.preamble.length = bytes;
    handleRemotePendingRecv(asked);
  }
  send(&window, slot, offset, bytes);
}

void CarefulPair::receive_at_once(std::uint64_t slot, void* data) {
  const std::lock_guard lock(m_);
  awaited_ = {slot, static_cast<char*>(data)};
  note([](Wait& wait) { wait.has_come = false; });
  if (early_.place != nullptr && early_.slot == slot) deliver(std::exchange(early_, {}));
}

bool CarefulPair::wait_at_once(std::chrono::milliseconds timeout) {
  {
    std::unique_lock lock(wait_.mutex);
    wait_.changed.wait_for(lock, timeout, [&] { return wait_.has_come || wait_.is_woken || wait_.is_closed; });
    if (wait_.has_come) return true;
    if (wait_.is_woken) return false;
    if (!wait_.is_closed) throw std::runtime_error("timed out");
  }
  const std::lock_guard lock(m_);
  throwIfException();
  throw std::runtime_error("closed");
}

void CarefulPair::wake() noexcept {
  note([](Wait& wait) { wait.is_woken = true; });
}

template <class Change>
void CarefulPair::note(Change&& change) noexcept {
  const std::lock_guard lock(wait_.mutex);
  change(wait_);
  wait_.changed.notify_all();
}

// As the base's, which lets exceptions out, and the lock go with them. Who has the lock may be waiting for this thread;
// the event comes again.
void CarefulPair::handleEvents(int events) {
  const std::unique_lock lock(m_, std::try_to_lock);
  if (!lock || state_ > CONNECTED || ex_ != nullptr) return;
  if (state_ == LISTENING && is_client_) return;  // it listens no more
  try {
    if (state_ == CONNECTED) {
      handleReadWrite(events);
    } else if (state_ == LISTENING) {
      handleListening();
    } else if (state_ == CONNECTING) {
      handleConnecting();
    }
  } catch (...) {
    give_up(std::current_exception());
  }
}

// Closes a socket that is not registered too. The base throws there, which ends the process.
void CarefulPair::changeState(state next) noexcept {
  if (next == CLOSED) note([](Wait& wait) { wait.is_closed = true; });
  if (next != CLOSED || state_ == INITIALIZING || state_ == CLOSED) return Pair::changeState(next);
  calls_->lose(rank_);
  if (fd_ >= 0) {
    try {
      device_->unregisterDescriptor(fd_, this);
    } catch (const std::exception&) {
      // It was not.
    }
    ::close(fd_);
    fd_ = -1;
  }
  state_ = CLOSED;
  cv_.notify_all();
}

bool CarefulPair::write(tcp::Op& op) {
  const bool announces = is_announcement(op.getOpcode());
  const bool is_own = op.preamble.slot == kUnmatchedSlot || op.preamble.slot == kDifferenceSlot;
  if (announces && op.preamble.slot == kUnmatchedSlot) return true;  // it is of this rank alone
  // libgloo announces a message to a peer that has asked for it too. Nothing is written, and all is done.
  if (announces && !is_own && (op.preamble.slot & kAtOnce) != 0) return true;
  if (op.nwritten == 0 && (announces || goes_at_once(op))) say(op);
  return Pair::write(op);
}

// Reads the preamble itself: the base has forgotten it when it returns.
bool CarefulPair::read() {
  if (state_ == CONNECTED && rx_.nread < sizeof rx_.preamble) {
    if (!read_bytes(reinterpret_cast<char*>(&rx_.preamble), 0, sizeof rx_.preamble)) return false;
    hear(rx_);
  }
  return state_ == CONNECTED && goes_at_once(rx_) ? read_at_once() : Pair::read();
}

/// Reads what the socket has of the bytes [begin, end) of the present operation. Returns whether that is all.
bool CarefulPair::read_bytes(char* data, std::size_t begin, std::size_t end) {
  while (rx_.nread < end) {
    const ssize_t got = ::recv(fd_, data + (rx_.nread - begin), end - rx_.nread, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return false;
    if (got <= 0) {
      const std::string reason = got < 0 ? std::strerror(errno) : "closed by the peer";
      signalException(peer().str() + ": " + reason);
      return false;
    }
    rx_.nread += static_cast<std::size_t>(got);
  }
  return true;
}

bool CarefulPair::read_at_once() {
  const auto& preamble = rx_.preamble;
  if (arriving_.place == nullptr) {
    if (preamble.length > kMostBytesAtOnce || early_.place != nullptr) {
      signalException(peer().str() + ": sent more than was asked for");
      return false;
    }
    arriving_ = {preamble.slot, nullptr, nullptr, preamble.length};
    if (awaited_.place != nullptr && awaited_.slot == arriving_.slot) {
      arriving_.place = awaited_.place;
    } else {
      arriving_.early = std::make_unique_for_overwrite<char[]>(arriving_.bytes);
      arriving_.place = arriving_.early.get();
    }
  }
  if (!read_bytes(arriving_.place, sizeof preamble, sizeof preamble + arriving_.bytes)) return false;
  Arrival come = std::exchange(arriving_, {});
  rx_ = tcp::Op();
  if (awaited_.place != nullptr && awaited_.slot == come.slot) {
    deliver(come);
  } else {
    early_ = std::move(come);
  }
  return true;
}

/// It is the one that is awaited.
void CarefulPair::deliver(const Arrival& arrival) {
  if (arrival.place != awaited_.place) std::memcpy(awaited_.place, arrival.place, arrival.bytes);
  awaited_ = {};
  note([](Wait& wait) { wait.has_come = true; });
}

void CarefulPair::say(tcp::Op& op) const {
  if (op.preamble.slot == kDifferenceSlot) {
    const Calls::Difference difference = calls_->difference();
    op.preamble.offset = difference.peers;
    op.preamble.roffset = difference.own;
  } else {
    const Calls::Words own = calls_->own();
    op.preamble.offset = own.call;
    op.preamble.roffset = own.note;
  }
}

void CarefulPair::hear(const tcp::Op& op) {
  const auto& said = op.preamble;
  const auto kind = static_cast<tcp::Op::Opcode>(said.opcode);
  if (!is_announcement(kind) && !goes_at_once(op)) return;
  if (said.slot == kUnmatchedSlot) return;
  if (said.slot == kDifferenceSlot) {
    calls_->hear_of({static_cast<std::int32_t>(said.length >> 31U), said.offset,
                     static_cast<std::int32_t>(said.length & 0x7fffffffU), said.roffset});
    return;
  }
  const auto side = kind == tcp::Op::NOTIFY_RECV_READY ? Calls::Side::send : Calls::Side::receive;
  calls_->hear(side, rank_, static_cast<std::int64_t>(said.length), {said.offset, said.roffset});
}

void CarefulPair::give_up(const std::exception_ptr& failure) noexcept {
  try {
    if (ex_ == nullptr) signalException(failure);
  } catch (...) {
    ex_ = failure;
  }
  if (state_ != CLOSED) changeState(CLOSED);
}

std::unique_ptr<::gloo::transport::Pair>& CarefulContext::createPair(int peer) {
  auto& place = pairs_[static_cast<std::size_t>(peer)];
  place = std::make_unique<CarefulPair>(this, device_.get(), peer, getTimeout(), calls_);
  return place;
}

}  // namespace gradstep::gloo_plugin
