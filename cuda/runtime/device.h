// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The device that calls are for.
#pragma once

#include "runtime/errors.h"
#include "runtime/primary_context.h"

namespace gradstep::cuda {

/// Makes a device the thread's current one, and what was current before again: also where nothing was, so that no
/// thread of the host's or of gradstep's makes a context on a device that it does not use, as cudaSetDevice() would.
class OnDevice {
 public:
  explicit OnDevice(int device) {
    int current = 0;
    check(cudaGetDevice(&current), "cudaGetDevice");
    if (current == device) return;
    push_primary_context(device);
    has_changed_ = true;
  }
  ~OnDevice() {
    if (has_changed_) pop_primary_context();
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  bool has_changed_ = false;
};

/// Throws BACKEND_UNAVAILABLE, with the driver's words, unless there is such a device.
inline void check_device_exists(int device) {
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) {
    fail(GRADSTEP_ERR_BACKEND_UNAVAILABLE, "CUDA has no device: {} ({})", cudaGetErrorString(error),
         cudaGetErrorName(error));
  }
  if (device < 0 || device >= count) {
    fail(GRADSTEP_ERR_BACKEND_UNAVAILABLE, "CUDA has {} devices, and none with number {}", count, device);
  }
}

}  // namespace gradstep::cuda
