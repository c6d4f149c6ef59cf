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

/// Its descriptor is ready from the start, so that the thread comes to it.
class Visit final : private ::gloo::transport::tcp::Handler {
 public:
  Visit(::gloo::transport::tcp::Device& device, FunctionRef<void()> work)
      : device_(device), work_(work), event_(::eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (!event_.valid()) throw std::runtime_error(std::string("eventfd: ") + std::strerror(errno));
    device_.registerDescriptor(event_.get(), EPOLLIN, this);
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return has_ended_; });
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void handleEvents(int) override {
    std::exception_ptr failure;
    try {
      device_.unregisterDescriptor(event_.get(), this);
      work_();
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    failure_ = failure;
    has_ended_ = true;
    ended_.notify_one();
  }

  ::gloo::transport::tcp::Device& device_;
  FunctionRef<void()> work_;
  FileDescriptor event_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool has_ended_ = false;
  std::exception_ptr failure_;
};

}  // namespace

void run_on_device_thread(const std::shared_ptr<::gloo::transport::Device>& device, FunctionRef<void()> work) {
  const Visit visit(dynamic_cast<::gloo::transport::tcp::Device&>(*device), work);
}

}  // namespace gradstep::gloo_plugin
