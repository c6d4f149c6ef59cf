// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/plugins/gloo/pairs.h"

#include <gloo/transport/tcp/pair.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <mutex>
#include <string>

namespace gradstep::gloo_plugin {

namespace {

namespace tcp = ::gloo::transport::tcp;

class CarefulPair final : public tcp::Pair {
 public:
  CarefulPair(tcp::Context* context, tcp::Device* device, int peer, std::chrono::milliseconds timeout,
              std::shared_ptr<Calls> calls)
      : Pair(context, device, peer, timeout), calls_(std::move(calls)) {}
  /// Here, not in the base: until the socket is closed, events may come.
  ~CarefulPair() override {
    const std::lock_guard lock(m_);
    if (state_ != CLOSED) changeState(CLOSED);
  }
  CarefulPair(const CarefulPair&) = delete;
  CarefulPair& operator=(const CarefulPair&) = delete;

  // As the base's, which lets exceptions out, and the lock go with them. Who has the lock may be waiting for this
  // thread; the event comes again.
  void handleEvents(int events) override {
    const std::unique_lock lock(m_, std::try_to_lock);
    if (!lock || state_ > CONNECTED || ex_ != nullptr) return;
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

 protected:
  // Closes a socket that is not registered too. The base throws there, which ends the process.
  void changeState(state next) noexcept override {
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

  bool write(tcp::Op& op) override {
    const auto kind = op.getOpcode();
    if (op.nwritten == 0 && (kind == tcp::Op::NOTIFY_SEND_READY || kind == tcp::Op::NOTIFY_RECV_READY)) say(op);
    return Pair::write(op);
  }

  // Reads the preamble itself: the base has forgotten it when it returns.
  bool read() override {
    while (state_ == CONNECTED && rx_.nread < sizeof rx_.preamble) {
      const ssize_t got =
          ::recv(fd_, reinterpret_cast<char*>(&rx_.preamble) + rx_.nread, sizeof rx_.preamble - rx_.nread, 0);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == EAGAIN) return false;
      if (got <= 0) {
        const std::string reason = got < 0 ? std::strerror(errno) : "closed by the peer";
        signalException(peer().str() + ": " + reason);
        return false;
      }
      rx_.nread += static_cast<std::size_t>(got);
      if (rx_.nread == sizeof rx_.preamble) hear(rx_);
    }
    return Pair::read();
  }

 private:
  void say(tcp::Op& op) const {
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

  void hear(tcp::Op& op) {
    const auto kind = op.getOpcode();
    if (kind != tcp::Op::NOTIFY_SEND_READY && kind != tcp::Op::NOTIFY_RECV_READY) return;
    const auto& said = op.preamble;
    if (said.slot == kUnmatchedSlot) return;
    if (said.slot == kDifferenceSlot) {
      calls_->hear_of({static_cast<std::int32_t>(said.length >> 31U), said.offset,
                       static_cast<std::int32_t>(said.length & 0x7fffffffU), said.roffset});
      return;
    }
    const auto side = kind == tcp::Op::NOTIFY_SEND_READY ? Calls::Side::receive : Calls::Side::send;
    calls_->hear(side, rank_, static_cast<std::int64_t>(said.length), {said.offset, said.roffset});
  }

  void give_up(std::exception_ptr failure) noexcept {
    try {
      if (ex_ == nullptr) signalException(failure);
    } catch (...) {
      ex_ = failure;
    }
    if (state_ != CLOSED) changeState(CLOSED);
  }

  std::shared_ptr<Calls> calls_;
};

}  // namespace

std::unique_ptr<::gloo::transport::Pair>& CarefulContext::createPair(int peer) {
  auto& place = pairs_[static_cast<std::size_t>(peer)];
  place = std::make_unique<CarefulPair>(this, device_.get(), peer, getTimeout(), calls_);
  return place;
}

}  // namespace gradstep::gloo_plugin
