// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Eigenvectors and QR by Eigen, on row-major n x n matrices. decompositions.inc is the one place that includes Eigen;
// it is compiled once for each instruction set, whose results differ by rounding. For the same bits everywhere matrices
// must begin at multiples of 64 bytes.
#pragma once

#include <cstdint>

namespace gradstep::cpu {

template <class T>
struct DecompositionsOf {
  /// Eigenvalues of a symmetric matrix, ascending, and its eigenvectors in the columns of `vectors`. False if the
  /// iteration did not converge.
  bool (*decompose)(const T* a, std::int64_t n, T* values, T* vectors);

  /// The orthogonal factor of a = Q R.
  void (*orthonormalize)(const T* a, std::int64_t n, T* q);
};

struct Decompositions {
  /// Makes Eigen's blocking of products, and so their rounding, that of every processor. Before the first use.
  void (*fix_blocking)();

  DecompositionsOf<double> f64;
  DecompositionsOf<float> f32;

  template <class T>
  const DecompositionsOf<T>& in() const {
    if constexpr (sizeof(T) == sizeof(double)) {
      return f64;
    } else {
      return f32;
    }
  }
};

extern const Decompositions kDecompositionsBaseline;
#if defined(GRADSTEP_HAS_X86_LOOPS)
extern const Decompositions kDecompositionsAvx2;
#endif

}  // namespace gradstep::cpu
