// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// As tridiagonal_root.h, of a symmetric matrix that is block tridiagonal: ratios and numbers on the diagonal are blocks
// of kBand rows. That costs kBand times as much, some 50 kBand n^2 operations, and spares most of what takes a large
// matrix from such a form to a tridiagonal one.
#pragma once

#include <cstdint>

#include "core/aligned_vector.h"
#include "core/held_bytes.h"
#include "cpu/linear_algebra/products.h"
#include "cpu/linear_algebra/root_poles.h"

namespace gradstep::cpu {

/// With the scratch of a thread, which grows.
template <class T>
class BandRoot {
 public:
  /// The matrix (n, n), which stays where it is; its numbers are to have been scaled to about 1.
  void begin(const Products<T>& products, const BlockTridiagonal<T>& matrix, std::int64_t n);

  double largest_eigenvalue();

  /// Finds the summands of f = scale (B + ridge I)^(-1/exponent). False if an eigenvalue of B lies below -ridge / 2, or
  /// for exponents above 64.
  bool expand(double ridge, std::int32_t exponent, double scale);

  /// The lower triangle of f (n, n), whose upper one may change.
  void write(T* f);

  /// So that matrices up to n x n whose ridge is `epsilon` times their largest eigenvalue, or more, take no memory.
  void reserve(std::int64_t n, double epsilon);
  std::size_t bytes() const { return held_bytes(sum_, scratch_); }

 private:
  std::int64_t count_definite(T sign, const T* shifts);

  const DenseLoops<T>* loops_ = nullptr;
  BlockTridiagonal<T> matrix_;
  std::int64_t n_ = 0;
  double largest_ = 0;
  T scale_ = 1;
  ResolventSum<T, kBand<T>> sum_;
  AlignedVector<T> scratch_;
};

extern template class BandRoot<double>;
extern template class BandRoot<float>;

}  // namespace gradstep::cpu
