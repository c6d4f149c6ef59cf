// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Kernels of programs that are written in CUDA's own words, for the emulated device (../device.h): functions of one
// dimension of threads, which do not wait for each other, launched by cudaLaunchKernelEx.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>

#include "cuda/emulation/device.h"

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wreserved-macro-identifier"
#endif
#define __global__
#define __device__
#define __host__
#if defined(__clang__)
#pragma clang diagnostic pop
#endif

struct dim3 {
  unsigned x = 1;
  unsigned y = 1;
  unsigned z = 1;
};

struct cudaLaunchConfig_t {
  dim3 gridDim;
  dim3 blockDim;
  size_t dynamicSmemBytes = 0;
  cudaStream_t stream = nullptr;
};

// The thread that runs.
inline thread_local dim3 threadIdx;
inline thread_local dim3 blockIdx;
inline thread_local dim3 blockDim;
inline thread_local dim3 gridDim;

template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  const dim3 grid = config->gridDim;
  const dim3 block = config->blockDim;
  if (grid.y * grid.z * block.y * block.z != 1 || config->dynamicSmemBytes != 0) return cudaErrorInvalidValue;
  const auto call = std::bind_front(kernel, Parameters(arguments)...);  // copies, as a launch takes them
  return gradstep::emulation::launch({"a kernel of the host's", grid.x, static_cast<int>(block.x), 0, /*waits=*/false,
                                      [call, grid, block](const gradstep::emulation::Block& own) {
                                        threadIdx.x = static_cast<unsigned>(own.thread());
                                        blockIdx.x = static_cast<unsigned>(own.index());
                                        blockDim = block;
                                        gridDim = grid;
                                        call();
                                      }},
                                     config->stream);
}
