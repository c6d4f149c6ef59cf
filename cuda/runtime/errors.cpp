// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/errors.h"

namespace gradstep::cuda {

void fail_cuda(cudaError_t error, const char* call) {
  gradstep_status status = GRADSTEP_ERR_DEVICE;
  if (error == cudaErrorMemoryAllocation) status = GRADSTEP_ERR_OUT_OF_MEMORY;
  if (is_about_capture(error)) status = GRADSTEP_ERR_INVALID_STATE;
  fail(status, "{}: {} ({})", call, cudaGetErrorString(error), cudaGetErrorName(error));
}

}  // namespace gradstep::cuda
