// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The dense linear algebra of Shampoo on plain pointers, one thread each. Matrices are row-major and, but for the
// arguments called x, square. Its source is the one place that includes Eigen.
#pragma once

#include <cstdint>

namespace gradstep::dense {

/// s = keep * s + add * (x contracted with itself over all axes but the middle one), x being (outer, n, inner).
/// s (n, n) is symmetric to the bit.
void update_statistic(const float* x, std::int64_t outer, std::int64_t n, std::int64_t inner, float keep, float add,
                      float* s);

/// y (rest, n) = x^T p for x (n, rest), p (n, n): contracts axis 0 of a tensor, which becomes its last.
void contract_first_axis(const float* x, std::int64_t n, std::int64_t rest, const float* p, float* y);

/// c = a b.
void multiply(const double* a, const double* b, std::int64_t n, double* c);

/// y = a x.
void multiply_vector(const double* a, const double* x, std::int64_t n, double* y);

/// Eigenvalues of a symmetric matrix, ascending, and its eigenvectors in the COLUMNS of `vectors`. False if the
/// iteration did not converge.
bool decompose(const double* a, std::int64_t n, double* values, double* vectors);

/// h = V diag(f) V^T for f > 0, symmetric to the bit. `scaled` is scratch of n * n.
void recompose(const double* vectors, const double* f, std::int64_t n, double* scaled, double* h);

}  // namespace gradstep::dense
