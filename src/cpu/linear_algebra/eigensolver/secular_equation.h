// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "cpu/linear_algebra/dense.h"

namespace gradstep::cpu {

/// 1 / rho + sum of z_j^2 / (d_j - x) = 0: the eigenvalues x of diag(d) + rho z z^T. d ascends strictly, no z_j is 0,
/// and rho > 0; root i lies between d_i and d_(i + 1), the last one above all.
template <class T>
struct SecularEquation {
  const T* d;
  const T* z;
  std::int64_t size;
  T rho;
};

/// Root i, by the middle way of Li (1993, LAPACK working note 89) between bounds. difference[j] becomes d_j - x, which
/// is accurate however close they are.
template <class T>
T solve_secular(const DenseLoops<T>& loops, const SecularEquation<T>& equation, std::int64_t i, T* difference);

extern template double solve_secular(const DenseLoops<double>&, const SecularEquation<double>&, std::int64_t, double*);
extern template float solve_secular(const DenseLoops<float>&, const SecularEquation<float>&, std::int64_t, float*);

}  // namespace gradstep::cpu
