// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "backend/lapack.h"
#include "backend/preconditioning.h"
#include "cpu/linear_algebra/arithmetic.h"

namespace gradstep {
class Context;
}

namespace gradstep::cpu {

struct RootOptions {
  const Arithmetic* arithmetic = &kBaselineArithmetic;
  const Lapack* lapack = nullptr;  ///< for large matrices; NULL = none
  Context* threads = nullptr;      ///< that share the work; NULL = the calling thread works alone
  RootMethod method = RootMethod::eigh;
  RootPrecision precision = RootPrecision::f64;
  std::int32_t exponent = 4;     ///< p >= 1
  double matrix_epsilon = 1e-6;  ///< the ridge is this times max(largest eigenvalue, 1e-6) times ridge_factor
  bool absolute_ridge = false;   ///< the ridge is matrix_epsilon times ridge_factor
  double ridge_factor = 1;
  std::int64_t padded = 0;    ///< the matrix is taken as extended to this size by a diagonal; 0 = not extended
  double pad_value = 1;       ///< what stands on that diagonal
  bool source_steps = false;  ///< coupled Newton's steps, and the rule that ends them, are distributed_shampoo.py's
};

struct RootResult {
  double error = 0;           ///< NaN if the statistic is not finite
  double max_eigenvalue = 0;  ///< the estimate that the ridge was made from
  double ridge = 0;
  std::int32_t iterations = 0;  ///< of coupled Newton
};

}  // namespace gradstep::cpu
