// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/plugins/gloo/pairs.h"

#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

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

// What libgloo's address consists of: a socket's address with room for the longest, and what tells connections apart.
// Two kinds of sockets have shorter ones.
constexpr std::size_t kSocketAddress = sizeof(sockaddr_in6);
constexpr std::size_t kUnused = sizeof(sockaddr_storage) - kSocketAddress;

}  // namespace

/// Here, not in the base: until the socket is closed, events may come.
CarefulPair::~CarefulPair() {
  const std::lock_guard lock(m_);
  if (state_ != CLOSED) CarefulPair::changeState(CLOSED);
}

std::vector<char> CarefulPair::place() const {
  std::vector<char> bytes = self_.bytes();
  bytes.erase(bytes.begin() + kSocketAddress, bytes.begin() + kSocketAddress + kUnused);
  return bytes;
}

void CarefulPair::begin_to_connect(const std::vector<char>& place) noexcept {
  try {
    std::vector<char> bytes = place;
    bytes.insert(bytes.begin() + kSocketAddress, kUnused, 0);
    Pair::connect(bytes);  // which does not wait, see waitUntilConnected()
  } catch (...) {
    const std::lock_guard lock(m_);
    give_up(std::current_exception());
  }
}

bool CarefulPair::is_connected_by(Deadline::Clock::time_point time) {
  std::unique_lock lock(m_);
  cv_.wait_until(lock, time, [this] { return state_ >= CONNECTED || ex_ != nullptr; });
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
  try {
    if (state_ == CONNECTED) return handleReadWrite(events);
#if !GRADSTEP_GLOO_DEVICE_LISTENS
    if (state_ == LISTENING) return handleListening();
    // What a stranger has said to the socket that has listened is not the peer's answer.
    if (state_ == CONNECTING && events != static_cast<int>(EPOLLIN)) return handleConnecting();
#endif
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
