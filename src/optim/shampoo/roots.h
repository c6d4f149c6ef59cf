// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Inverse p-th roots of damped symmetric matrices, in f64.
#pragma once

#include <cstdint>
#include <vector>

#include "optim/shampoo/dense.h"

namespace gradstep {

enum class RootMethod : std::uint8_t { coupled_newton, eigh };

struct RootOptions {
  const Dense* dense = &kDenseBaseline;
  RootMethod method = RootMethod::eigh;
  std::int32_t exponent = 4;     ///< p >= 1
  double matrix_epsilon = 1e-6;  ///< the ridge is this times max(largest eigenvalue, 1e-6) times ridge_factor
  double ridge_factor = 1;
  std::int64_t padded = 0;  ///< the matrix is taken as extended to this size by a diagonal; 0 = not extended
  double pad_value = 1;     ///< what stands on that diagonal
  bool seed_rules = false;  ///< stop as the seed does: at the first error that is 1.2 times its predecessor or more
};

struct RootResult {
  double error = 0;           ///< NaN if the statistic is not finite
  double max_eigenvalue = 0;  ///< the estimate that the ridge was made from
  double ridge = 0;
  std::int32_t iterations = 0;  ///< of coupled Newton
};

/// Scratch of a thread. Grows to the largest matrix and stays.
class RootWorkspace {
 public:
  /// (S + ridge I)^(-1/p) of an n x n statistic into root().
  RootResult inverse_root(const float* statistic, std::int64_t n, const RootOptions& options);

  /// The last result, row-major.
  const double* root() const { return root_; }
  std::size_t bytes() const { return storage_.capacity() * sizeof(double); }

 private:
  RootResult newton(std::int64_t n, const RootOptions& options);
  RootResult eigh(std::int64_t n, const RootOptions& options);
  double largest_eigenvalue(std::int64_t n, const RootOptions& options);
  double residual(std::int64_t n, const RootOptions& options, double ridge);
  double full_residual(std::int64_t n, const RootOptions& options, double ridge);
  void reserve(std::int64_t n, std::int64_t padded);

  std::vector<double> storage_;
  double* statistic_ = nullptr;  // each n x n
  double* root_ = nullptr;
  double* a_ = nullptr;
  double* b_ = nullptr;
  double* c_ = nullptr;
  double* d_ = nullptr;
  double* x_ = nullptr;  // vectors
  double* y_ = nullptr;
  double* z_ = nullptr;
  double* values_ = nullptr;
};

}  // namespace gradstep
