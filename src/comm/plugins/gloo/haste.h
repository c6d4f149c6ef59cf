// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// libgloo closes one socket after the other, and for each waits until its thread has looked up once more; with silent
// sockets that is every 10 ms, which makes ten seconds for a thousand ranks. A timer among the sockets keeps it awake.
#pragma once

#include <gloo/transport/device.h>
#include <gloo/transport/tcp/device.h>

#include <atomic>
#include <memory>

#include "core/file_descriptor.h"

namespace gradstep::gloo_plugin {

/// From start() to its end the device's thread looks up 10,000 times a second: for the time in which sockets are
/// closed. Where the system has no timer left when it is made, they are closed slowly. Not used on the device's own
/// thread.
class Haste final : private ::gloo::transport::tcp::Handler {
 public:
  explicit Haste(const std::shared_ptr<::gloo::transport::Device>& device) noexcept;
  ~Haste() override;
  Haste(const Haste&) = delete;
  Haste& operator=(const Haste&) = delete;
  void start() noexcept;

 private:
  void handleEvents(int events) override;

  std::shared_ptr<::gloo::transport::tcp::Device> device_;
  FileDescriptor timer_;
  bool is_registered_ = false;
  std::atomic<bool> handled_{false};
};

}  // namespace gradstep::gloo_plugin
