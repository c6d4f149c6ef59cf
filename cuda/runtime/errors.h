// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Errors of CUDA's runtime become gradstep's own, which the library throws for the plugin.
#pragma once

#include <cuda_runtime_api.h>

#include "core/error.h"

namespace gradstep::cuda {

/// Is it one of those that CUDA answers inside or beside a capture? They are numbered one after the other.
inline bool is_about_capture(cudaError_t error) {
  return error >= cudaErrorStreamCaptureUnsupported && error <= cudaErrorCapturedEvent;
}

[[noreturn]] void fail_cuda(cudaError_t error, const char* call);

/// Throws OUT_OF_MEMORY, INVALID_STATE (inside a capture, what CUDA refuses there) or DEVICE, with the name of the
/// call.
inline void check(cudaError_t error, const char* call) {
  if (error != cudaSuccess) fail_cuda(error, call);
}

}  // namespace gradstep::cuda
