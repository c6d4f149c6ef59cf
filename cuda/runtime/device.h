// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The device that calls are for.
#pragma once

#include <fmt/format.h>

#include <string>

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

/// The attribute of a device that exists.
inline int attribute_of(int device, cudaDeviceAttr attribute) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, attribute, device), "cudaDeviceGetAttribute");
  return value;
}

/// As in "9.0 with 132 multiprocessors".
inline std::string architecture_of(int device) {
  return fmt::format("{}.{} with {} multiprocessors", attribute_of(device, cudaDevAttrComputeCapabilityMajor),
                     attribute_of(device, cudaDevAttrComputeCapabilityMinor),
                     attribute_of(device, cudaDevAttrMultiProcessorCount));
}

/// The first number of the compute capability of the oldest devices that kernels are compiled for.
inline constexpr int kOldestCapability = 8;

/// Throws BACKEND_UNAVAILABLE, with the driver's words, unless there is such a device, and kernels for it.
inline void check_device_exists(int device) {
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) {
    fail(GRADSTEP_ERR_BACKEND_UNAVAILABLE, "CUDA has no device: {} ({})", cudaGetErrorString(error),
         cudaGetErrorName(error));
  }
  if (device < 0 || device >= count) {
    fail(GRADSTEP_ERR_BACKEND_UNAVAILABLE, "CUDA has {} devices, and none with number {}", count, device);
  }
  if (attribute_of(device, cudaDevAttrComputeCapabilityMajor) < kOldestCapability) {
    fail(GRADSTEP_ERR_BACKEND_UNAVAILABLE, "CUDA's device {} has compute capability {}; {}.0 is the least", device,
         architecture_of(device), kOldestCapability);
  }
}

}  // namespace gradstep::cuda
