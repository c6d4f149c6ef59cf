// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What is used of cuSOLVER: symmetric eigendecompositions in f64. Prototypes are those of its reference (cusolverDn.h);
// its headers are not needed.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/memory.h"
#include "runtime/queue.h"

struct cusolverDnContext;  // of the library

namespace gradstep::cuda {

struct CusolverFunctions {
  using Handle = cusolverDnContext*;

  int (*create)(Handle* handle);
  int (*destroy)(Handle handle);
  int (*set_stream)(Handle handle, cudaStream_t stream);
  int (*size_of_decomposition)(Handle handle, int wants_vectors, int upper, int n, const double* a, int lda,
                               const double* values, int* numbers);
  int (*decompose)(Handle handle, int wants_vectors, int upper, int n, double* a, int lda, double* values, double* work,
                   int numbers, int* info);
};

/// The process's own. Throws BACKEND_UNAVAILABLE where there is no cuSOLVER.
const CusolverFunctions& cusolver_functions();

class Cusolver {
 public:
  explicit Cusolver(int device);
  ~Cusolver();
  Cusolver(const Cusolver&) = delete;
  Cusolver& operator=(const Cusolver&) = delete;

  /// `count` symmetric n x n matrices side by side are replaced by their eigenvectors, one in each row; `values`
  /// (count, n), ascending; `info` (count): 0 where the iteration has converged. May wait for the device.
  void decompose(double* matrices, std::int64_t n, std::int64_t count, double* values, int* info, CudaQueue& queue);
  std::int64_t bytes() const { return static_cast<std::int64_t>(work_.bytes()); }

 private:
  int device_;
  const CusolverFunctions& functions_;
  CusolverFunctions::Handle handle_ = nullptr;
  CudaQueue* queue_ = nullptr;
  Buffer work_;
};

}  // namespace gradstep::cuda
