// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/plugins/gloo/haste.h"

#include <sys/timerfd.h>

#include <cstdint>
#include <exception>

namespace gradstep::gloo_plugin {

namespace {

constexpr long kNanosecondsBetweenLooks = 100'000;

}  // namespace

Haste::Haste(const std::shared_ptr<::gloo::transport::Device>& device) noexcept
    : device_(std::dynamic_pointer_cast<::gloo::transport::tcp::Device>(device)),
      timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)) {}

void Haste::start() noexcept {
  const itimerspec often{{0, kNanosecondsBetweenLooks}, {0, kNanosecondsBetweenLooks}};
  if (device_ == nullptr || ::timerfd_settime(timer_.get(), 0, &often, nullptr) != 0) return;
  try {
    device_->registerDescriptor(timer_.get(), EPOLLIN, this);
    is_registered_ = true;
  } catch (const std::exception&) {
    // Slowly, then.
  }
}

Haste::~Haste() {
  if (!is_registered_) return;
  try {
    device_->unregisterDescriptor(timer_.get(), this);
  } catch (const std::exception&) {
    // It throws only for what is not registered.
  }
  // libgloo has waited until no handler runs, without a lock: this makes what they did come before the end.
  static_cast<void>(handled_.load(std::memory_order_acquire));
}

// The timer goes on when it has been read.
void Haste::handleEvents(int) {
  std::uint64_t expiries = 0;
  static_cast<void>(::read(timer_.get(), &expiries, sizeof expiries));
  handled_.store(true, std::memory_order_release);
}

}  // namespace gradstep::gloo_plugin
