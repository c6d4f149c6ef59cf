// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/plugins/gloo/device_thread.h"

#include <gloo/transport/tcp/device.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>

#include "core/file_descriptor.h"

namespace gradstep::gloo_plugin {

namespace {

/// Its descriptor is ready from the start, so that each look of the thread comes to it.
class Visit final : private ::gloo::transport::tcp::Handler {
 public:
  Visit(::gloo::transport::tcp::Device& device, FunctionRef<void()> first, FunctionRef<void()> second)
      : device_(device), first_(first), second_(second), event_(::eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (!event_.valid()) throw std::runtime_error(std::string("eventfd: ") + std::strerror(errno));
    device_.registerDescriptor(event_.get(), EPOLLIN, this);
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return has_ended_; });
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void handleEvents(int) override {
    try {
      if (!has_begun_) {
        has_begun_ = true;
        return first_();
      }
      device_.unregisterDescriptor(event_.get(), this);
      second_();
      end(nullptr);
    } catch (...) {
      fail(std::current_exception());
    }
  }

  void fail(const std::exception_ptr& failure) {
    try {
      device_.unregisterDescriptor(event_.get(), this);
    } catch (const std::exception&) {
      // It is done already.
    }
    end(failure);
  }

  /// The last that this thread does here.
  void end(const std::exception_ptr& failure) {
    const std::lock_guard lock(mutex_);
    failure_ = failure;
    has_ended_ = true;
    ended_.notify_one();
  }

  ::gloo::transport::tcp::Device& device_;
  FunctionRef<void()> first_;
  FunctionRef<void()> second_;
  FileDescriptor event_;
  bool has_begun_ = false;  // of the device's thread alone
  std::mutex mutex_;
  std::condition_variable ended_;
  bool has_ended_ = false;
  std::exception_ptr failure_;
};

}  // namespace

void run_on_device_thread(const std::shared_ptr<::gloo::transport::Device>& device, FunctionRef<void()> first,
                          FunctionRef<void()> second) {
  const Visit visit(dynamic_cast<::gloo::transport::tcp::Device&>(*device), first, second);
}

}  // namespace gradstep::gloo_plugin
