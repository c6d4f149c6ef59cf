// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The dense linear algebra of Shampoo on plain pointers, one thread each. Matrices are row-major and, but for the
// arguments called x, square. dense.inc is the one place that includes Eigen; it is compiled once for each instruction
// set, whose results differ by rounding.
#pragma once

#include <cstdint>

namespace gradstep {

struct Dense {
  /// s = keep * s + add * (x contracted with itself over all axes but the middle one), x being (outer, n, inner).
  /// s (n, n) is symmetric to the bit.
  void (*update_statistic)(const float* x, std::int64_t outer, std::int64_t n, std::int64_t inner, float keep,
                           float add, float* s);

  /// y (rest, n) = x^T p for x (n, rest), p (n, n): contracts axis 0 of a tensor, which becomes its last.
  void (*contract_first_axis)(const float* x, std::int64_t n, std::int64_t rest, const float* p, float* y);

  /// c = a b.
  void (*multiply)(const double* a, const double* b, std::int64_t n, double* c);

  /// y = a x.
  void (*multiply_vector)(const double* a, const double* x, std::int64_t n, double* y);

  /// Eigenvalues of a symmetric matrix, ascending, and its eigenvectors in the columns of `vectors`. False if the
  /// iteration did not converge.
  bool (*decompose)(const double* a, std::int64_t n, double* values, double* vectors);

  /// h = V diag(f) V^T for f > 0, symmetric to the bit. `scaled` is scratch of n * n.
  void (*recompose)(const double* vectors, const double* f, std::int64_t n, double* scaled, double* h);
};

extern const Dense kDenseBaseline;
#if defined(GRADSTEP_HAS_X86_LOOPS)
extern const Dense kDenseAvx2;
extern const Dense kDenseAvx512;
#endif

/// That of a backend's instruction set ("avx2"); the baseline for a name that has none.
const Dense& choose_dense(const char* instruction_set);

}  // namespace gradstep
