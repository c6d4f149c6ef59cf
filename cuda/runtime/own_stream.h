// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <utility>

#include "runtime/capture.h"

namespace gradstep::cuda {

/// A stream beside the host's, with which even the legacy default stream is ordered by events alone.
class OwnStream {
 public:
  explicit OwnStream(int device) : device_(device) {
    const BesideCapture beside(device_);
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
    give_back(device, [&] { cudaStreamDestroy(stream); });
  }

 private:
  int device_;
  cudaStream_t stream_ = nullptr;
};

}  // namespace gradstep::cuda
