// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/errors.h"

namespace gradstep::cuda {

namespace {

/// Those about captures are numbered one after the other.
bool is_about_capture(cudaError_t error) {
  return error >= cudaErrorStreamCaptureUnsupported && error <= cudaErrorCapturedEvent;
}

}  // namespace

void fail_cuda(cudaError_t error, const char* call) {
  cudaGetLastError();  // it has been told now
  gradstep_status status = GRADSTEP_ERR_DEVICE;
  if (error == cudaErrorMemoryAllocation) status = GRADSTEP_ERR_OUT_OF_MEMORY;
  if (is_about_capture(error)) status = GRADSTEP_ERR_INVALID_STATE;
  fail(status, "{}: {} ({})", call, cudaGetErrorString(error), cudaGetErrorName(error));
}

}  // namespace gradstep::cuda
