// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// f(T) = (T + ridge I)^(-1/p) of a symmetric tridiagonal T without its eigenvectors: a sum of resolvents weight (T +
// shift I)^-1 (partial_fractions.h), each of which has two vectors for its triangle (Gantmacher and Krein): below the
// diagonal, column k is the number on the diagonal times ratios that do not depend on k, r_j = -e_(j-1) / pivot_j with
// the pivots of elimination from the last row upwards. All summands of an element have the same sign, so each element
// is as accurate as the pivots. It costs some 50 n^2 operations, where eigenvectors cost several n^3.
//
// A column that has become small is left where it is: (T + shift I)^-1 is positive definite, so the rest is at most the
// square root of its condition number larger.
#pragma once

#include <cstdint>

#include "core/aligned_vector.h"
#include "core/held_bytes.h"
#include "cpu/linear_algebra/products.h"
#include "cpu/linear_algebra/root_poles.h"

namespace gradstep::cpu {

/// With the scratch of a thread, which grows.
template <class T>
class TridiagonalRoot {
 public:
  /// T, which stays where it is; its numbers are to have been scaled to about 1.
  void begin(const Products<T>& products, const T* diagonal, const T* off_diagonal, std::int64_t n);

  double largest_eigenvalue();

  /// Finds the summands of f = scale (T + ridge I)^(-1/exponent). False if an eigenvalue of T lies below -ridge / 2, or
  /// for exponents above 64.
  bool expand(double ridge, std::int32_t exponent, double scale);
  std::int64_t summands() const { return sum_.poles().count; }

  // f becomes H f H^T while it is written. The last columns are written first, and the caller multiplies by H in
  // between. Columns that are not written yet are a product of rows() and of factors that are kept: H times rows()
  // serves for all of them.

  /// Writes columns [begin, c) of f (n, n) from the diagonal on, c being the first one that was written before. What is
  /// above the diagonal may change. Begins with column 0 where H times those columns costs less than H times rows().
  /// Returns the column it began with.
  std::int64_t write_columns(const Products<T>& products, std::int64_t begin, T* f);
  /// (summands, n). The caller multiplies the numbers from the first written column on.
  T* rows() { return rows_.data(); }

  /// So that matrices up to n x n whose ridge is `epsilon` times their largest eigenvalue, or more, take no memory.
  void reserve(std::int64_t n, double epsilon);
  std::size_t bytes() const { return held_bytes(sum_, rows_, columns_, products_of_ratios_); }

 private:
  void count_below(const T* shifts, std::int64_t* counts) const { loops_->count_below(matrix_, shifts, counts); }
  void write_below(const Products<T>& products, std::int64_t begin, std::int64_t end, T* f);
  void take_rows(std::int64_t begin, std::int64_t end);

  const DenseLoops<T>* loops_ = nullptr;
  Tridiagonal<T> matrix_;
  double largest_ = 0;
  T scale_ = 1;
  std::int64_t written_ = 0;  // the first column that is
  ResolventSum<T, kPolesAtOnce> sum_;
  AlignedVector<T> rows_;
  AlignedVector<T> columns_;             // (summands, columns), the factors
  AlignedVector<T> products_of_ratios_;  // (summands)
};

extern template class TridiagonalRoot<double>;
extern template class TridiagonalRoot<float>;

}  // namespace gradstep::cpu
