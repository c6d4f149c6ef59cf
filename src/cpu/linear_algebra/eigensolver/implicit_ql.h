// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "cpu/linear_algebra/dense.h"

namespace gradstep::cpu {

/// Eigenvalues of a small tridiagonal matrix by the implicit QL algorithm (Dubrulle, Martin and Wilkinson 1968), into
/// `diagonal`, ascending, and its eigenvectors in the rows of `vectors`. off_diagonal[k] stands below diagonal[k]; it
/// is overwritten, and has n - 1 numbers. The matrix is to have been scaled to numbers up to about 1: what is below the
/// square of the precision counts as zero. False if an eigenvalue did not converge.
template <class T>
bool solve_by_implicit_ql(const DenseLoops<T>& loops, T* diagonal, T* off_diagonal, std::int64_t n, T* vectors,
                          std::int64_t stride);

extern template bool solve_by_implicit_ql(const DenseLoops<double>&, double*, double*, std::int64_t, double*,
                                          std::int64_t);
extern template bool solve_by_implicit_ql(const DenseLoops<float>&, float*, float*, std::int64_t, float*, std::int64_t);

}  // namespace gradstep::cpu
