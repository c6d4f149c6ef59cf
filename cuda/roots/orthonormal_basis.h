// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Q of A = Q R, of batches of n x n matrices in f64, side by side, whose rows are the vectors: by Householder's
// reflectors, kReflectors at a time in the compact form of Schreiber and Van Loan (1989). cuSOLVER has a decomposition
// of one matrix at a time, and a model has thousands of small ones.
#pragma once

#include <cstdint>

#include "kernels/reflectors.h"
#include "libraries/cublas.h"

namespace gradstep::cuda {

struct OrthonormalBases {
  std::int64_t n = 0;
  std::int64_t count = 0;
  double* from = nullptr;     ///< (count, n, n), of numbers whose squares f64 has; is overwritten
  double* to = nullptr;       ///< (count, n, n)
  double* scratch = nullptr;  ///< count * scratch_of(n) numbers

  static constexpr std::int64_t scratch_of(std::int64_t n) { return n * (n + kReflectors) + kReflectors * kReflectors; }
};

/// Rows of `to` become orthonormal; the first k of them span what the first k of `from` do.
void make_orthonormal(const OrthonormalBases& bases, Cublas& cublas, CudaQueue& queue);

}  // namespace gradstep::cuda
