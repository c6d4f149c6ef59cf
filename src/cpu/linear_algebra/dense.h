// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The dense linear algebra of Shampoo on plain pointers, one thread each. Matrices are row-major and, but for the
// arguments called x, square. dense.inc is the one place that includes Eigen; it is compiled once for each instruction
// set, whose results differ by rounding. For the same bits everywhere matrices must begin at multiples of 64 bytes, or
// at least at the same place in a cache line.
#pragma once

#include <cstdint>

namespace gradstep::cpu {

/// Of n x n matrices in one precision.
template <class T>
struct SquareMatrices {
  /// c = a b.
  void (*multiply)(const T* a, const T* b, std::int64_t n, T* c);

  /// y = a x.
  void (*multiply_vector)(const T* a, const T* x, std::int64_t n, T* y);

  /// Eigenvalues of a symmetric matrix, ascending, and its eigenvectors in the columns of `vectors`. False if the
  /// iteration did not converge.
  bool (*decompose)(const T* a, std::int64_t n, T* values, T* vectors);

  /// h = V diag(f) V^T for f > 0, symmetric to the bit. `scaled` is scratch of n * n.
  void (*recompose)(const T* vectors, const T* f, std::int64_t n, T* scaled, T* h);

  /// The orthogonal factor of a = Q R.
  void (*orthonormalize)(const T* a, std::int64_t n, T* q);
};

struct Dense {
  /// Makes Eigen's blocking of products, and so their rounding, that of every processor. Before the first use.
  void (*fix_blocking)();

  /// s = keep * s + add * (x contracted with itself over all axes but the middle one), x being (outer, n, inner).
  /// s (n, n) is symmetric to the bit.
  void (*update_statistic)(const float* x, std::int64_t outer, std::int64_t n, std::int64_t inner, float keep,
                           float add, float* s);

  /// y = x with its middle axis contracted with the rows of p (n, n), or with its columns if `by_columns`; x and y are
  /// (outer, n, inner).
  void (*contract_axis)(const float* x, std::int64_t outer, std::int64_t n, std::int64_t inner, const float* p,
                        bool by_columns, float* y);

  SquareMatrices<double> f64;
  SquareMatrices<float> f32;

  template <class T>
  const SquareMatrices<T>& in() const {
    if constexpr (sizeof(T) == sizeof(double)) {
      return f64;
    } else {
      return f32;
    }
  }
};

extern const Dense kDenseBaseline;
#if defined(GRADSTEP_HAS_X86_LOOPS)
extern const Dense kDenseAvx2;
#endif

}  // namespace gradstep::cpu
