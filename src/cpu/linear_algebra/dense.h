// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The inner loops of Shampoo's linear algebra on plain pointers: matrix products, and what
// eigensolver and QR do with vectors. dense.inc is compiled once for each instruction set. A result's bits depend on
// sizes alone, not on addresses, strides, or how wide the processor's vectors are: an element of a product is one chain
// of operations along the depth, and sums of vectors have a fixed number of lanes. AVX2, AVX-512 and NEON, which is the
// baseline of aarch64, give the same bits; products of x86-64's round after the multiplication too, for it has no fused
// operation.
#pragma once

#include <cstdint>

namespace gradstep::cpu {

/// Element (i, j) is data[i * row_stride + j * column_stride].
template <class T>
struct Operand {
  const T* data = nullptr;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;

  Operand transposed() const { return {data, column_stride, row_stride}; }
};

/// c = keep c + add a b: a is (rows, depth), b (depth, columns), c row-major. c is not read where keep is 0.
template <class T>
struct Product {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t depth = 0;
  Operand<T> a = {};
  Operand<T> b = {};
  T* c = nullptr;
  std::int64_t c_stride = 0;
  T keep = 0;
  T add = 1;
  bool only_lower = false;  ///< of a square c: elements above the diagonal are neither read nor written
};

// A product is cut along its depth, and the cuts decide how it rounds; the other two sizes are of the caches alone.
inline constexpr std::int64_t kProductDepth = 256;
inline constexpr std::int64_t kProductRows = 96;
template <class T>
inline constexpr std::int64_t kProductColumns = 2304 / static_cast<std::int64_t>(sizeof(T));
inline constexpr std::int64_t kWidestPanel = 32;  // of all instruction sets

/// Numbers of scratch that the panels of b take, and those of a behind them.
template <class T>
constexpr std::int64_t packed_columns(const Product<T>& product) {
  const std::int64_t depth = product.depth < kProductDepth ? product.depth : kProductDepth;
  const std::int64_t columns = product.columns < kProductColumns<T> ? product.columns : kProductColumns<T>;
  return (columns + kWidestPanel - 1 + 15) / 16 * 16 * depth;
}
template <class T>
constexpr std::int64_t packed_rows(const Product<T>& product) {
  const std::int64_t depth = product.depth < kProductDepth ? product.depth : kProductDepth;
  const std::int64_t rows = product.rows < kProductRows ? product.rows : kProductRows;
  return (rows + kWidestPanel - 1) * depth;
}

template <class T>
struct DenseLoops {
  /// `packed` is scratch of packed_columns() + packed_rows() numbers, which begins at a cache line.
  void (*multiply)(const Product<T>& product, T* packed);

  /// Sum of x y.
  T (*dot)(const T* x, const T* y, std::int64_t count);
  /// y += alpha x.
  void (*add_scaled)(T alpha, const T* x, std::int64_t count, T* y);
  /// What rows [begin, end) of the lower triangle add to y = a x, of a symmetric matrix: to `end` numbers of y, which
  /// are overwritten.
  void (*multiply_symmetric)(const T* a, std::int64_t stride, std::int64_t begin, std::int64_t end, const T* x, T* y);
  /// (x, y) = (c x + s y, c y - s x).
  void (*rotate)(T* x, T* y, std::int64_t count, T c, T s);

  // Of the secular equation (eigensolver/secular_equation.h).
  /// Sums of z^2 / (delta - tau) and of z^2 / (delta - tau)^2.
  void (*sum_poles)(const T* z, const T* delta, T tau, std::int64_t count, T* sum, T* slope);
  /// w *= difference / (d - pole).
  void (*multiply_ratios)(const T* difference, const T* d, T pole, std::int64_t count, T* w);
  /// x = z / difference.
  void (*divide)(const T* z, const T* difference, std::int64_t count, T* x);
};

struct Dense {
  DenseLoops<double> f64;
  DenseLoops<float> f32;

  template <class T>
  const DenseLoops<T>& in() const {
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
extern const Dense kDenseAvx512;
#endif

}  // namespace gradstep::cpu
