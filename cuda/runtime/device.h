// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The device that calls are for.
#pragma once

#include "runtime/errors.h"

namespace gradstep::cuda {

/// Makes a device the thread's current one, and what was current before again.
class OnDevice {
 public:
  explicit OnDevice(int device) {
    check(cudaGetDevice(&before_), "cudaGetDevice");
    if (before_ == device) return;
    check(cudaSetDevice(device), "cudaSetDevice");
    has_changed_ = true;
  }
  ~OnDevice() {
    if (has_changed_) cudaSetDevice(before_);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_ = 0;
  bool has_changed_ = false;
};

/// Throws BACKEND_UNAVAILABLE, with the driver's words, unless there is such a device.
inline void check_device_exists(int device) {
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) {
    cudaGetLastError();
    fail(GRADSTEP_ERR_BACKEND_UNAVAILABLE, "CUDA has no device: {} ({})", cudaGetErrorString(error),
         cudaGetErrorName(error));
  }
  if (device < 0 || device >= count) {
    fail(GRADSTEP_ERR_BACKEND_UNAVAILABLE, "CUDA has {} devices, and none with number {}", count, device);
  }
}

}  // namespace gradstep::cuda
