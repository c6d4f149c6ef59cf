// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <utility>

#include "runtime/device.h"
#include "runtime/errors.h"

namespace gradstep::cuda {

/// A stream beside the host's, with which even the legacy default stream is ordered by events alone.
class OwnStream {
 public:
  explicit OwnStream(int device) : device_(device) {
    const OnDevice current(device_);
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  }
  ~OwnStream() {
    if (stream_ != nullptr) destroy(device_, stream_);
  }
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;

  cudaStream_t get() const { return stream_; }
  /// For destroy().
  cudaStream_t release() { return std::exchange(stream_, nullptr); }
  static void destroy(int device, cudaStream_t stream) noexcept {
    try {
      const OnDevice current(device);
      cudaStreamDestroy(stream);
    } catch (...) {  // of a device that is gone there is nothing to give back
    }
  }

 private:
  int device_;
  cudaStream_t stream_ = nullptr;
};

}  // namespace gradstep::cuda
