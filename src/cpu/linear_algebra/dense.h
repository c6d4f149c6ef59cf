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
  bool only_lower = false;  ///< of a square c: what is above its diagonal is neither summed nor kept
  bool of_bf16 = false;     ///< f32 alone: a and b hold numbers of bf16, and c is rounded to such once it is summed
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

/// A symmetric tridiagonal matrix; off_diagonal[j] stands beside diagonal[j] and diagonal[j + 1].
template <class T>
struct Tridiagonal {
  const T* diagonal = nullptr;
  const T* off_diagonal = nullptr;
  std::int64_t n = 0;
  T smallest_pivot = 0;  ///< a smaller one counts as its negative
};

/// The terms of a sum of weight (A + shift I)^-1. Their number is a multiple of kPolesAtOnce.
template <class T>
struct Poles {
  const T* shifts = nullptr;
  const T* weights = nullptr;
  std::int64_t count = 0;
};

/// Rows of the blocks of a matrix that is block tridiagonal.
template <class T>
inline constexpr std::int64_t kBand = 64 / static_cast<std::int64_t>(sizeof(T));
template <class T>
inline constexpr std::int64_t kBandStrip = 4 * kBand<T>;  ///< columns whose resolvents are summed together

/// A symmetric matrix of compact blocks of kBand rows; below[j] stands below diagonal[j].
template <class T>
struct BlockTridiagonal {
  const T* diagonal = nullptr;
  const T* below = nullptr;
  std::int64_t blocks = 0;
};

inline constexpr std::int64_t kSturmShifts = 16;
inline constexpr std::int64_t kPolesAtOnce = 4;
/// Numbers that sum_resolvents leaves out.
template <class T>
inline constexpr T kVanished = sizeof(T) == sizeof(double) ? T(1e-32) : T(1e-16);

template <class T>
struct DenseLoops {
  /// `packed` is scratch of packed_columns() + packed_rows() numbers, which begins at a cache line.
  void (*multiply)(const Product<T>& product, T* packed);
  /// The upper triangle of an n x n matrix from the lower one.
  void (*mirror_lower)(T* s, std::int64_t stride, std::int64_t n);
  /// `to` (columns, rows) from `from` (rows, columns), both compact.
  void (*transpose)(const T* from, std::int64_t rows, std::int64_t columns, T* to);

  /// Sum of x y.
  T (*dot)(const T* x, const T* y, std::int64_t count);
  /// y += alpha x.
  void (*add_scaled)(T alpha, const T* x, std::int64_t count, T* y);
  /// sums[i] = row i of `rows` times x, of `count` rows of `length` numbers.
  void (*multiply_vector)(const T* rows, std::int64_t stride, std::int64_t count, const T* x, std::int64_t length,
                          T* sums);
  /// Multiplies two vectors that follow one another, into two lists of sums.
  void (*multiply_two)(const T* rows, std::int64_t stride, std::int64_t count, const T* x, std::int64_t length,
                       T* sums);
  /// y -= factors[0] row 0, then row 1 and so on, of `count` rows of `length` numbers.
  void (*subtract_rows)(const T* factors, const T* rows, std::int64_t stride, std::int64_t count, std::int64_t length,
                        T* y);
  /// What rows [begin, end) of the lower triangle add to y = a x, of a symmetric matrix: to `end` numbers of y, which
  /// are overwritten. `begin` is a multiple of 4. What stands above the diagonal is finite. Lines are taken from
  /// `before` numbers before a, x and y on, less than a line: of a they are finite, of x zero, of y they may change.
  /// Unless `before` is 0, before + end is a multiple of a line's numbers.
  void (*multiply_symmetric)(const T* a, std::int64_t stride, std::int64_t begin, std::int64_t end, const T* x, T* y,
                             std::int64_t before);
  /// Multiplies kBand vectors at once: x and y are matrices of kBand columns.
  void (*multiply_symmetric_band)(const T* a, std::int64_t stride, std::int64_t begin, std::int64_t end, const T* x,
                                  T* y);
  /// (x, y) = (c x + s y, c y - s x).
  void (*rotate)(T* x, T* y, std::int64_t count, T c, T s);

  // For the secular equation (eigensolver/secular_equation.h).
  /// Sums of z^2 / (delta - tau) and of z^2 / (delta - tau)^2.
  void (*sum_poles)(const T* z, const T* delta, T tau, std::int64_t count, T* sum, T* slope);
  /// w *= difference / (d - pole).
  void (*multiply_ratios)(const T* difference, const T* d, T pole, std::int64_t count, T* w);
  /// x = z / difference.
  void (*divide)(const T* z, const T* difference, std::int64_t count, T* x);

  // For functions of a tridiagonal matrix (tridiagonal_root.h).
  /// How many eigenvalues lie below each of kSturmShifts shifts (Sturm's sequence).
  void (*count_below)(const Tridiagonal<T>& matrix, const T* shifts, std::int64_t* counts);
  /// For each weight (A + shift I)^-1, A + shift I positive definite: writes its diagonal, (n, poles.count), and the
  /// ratios, of that shape too, that take row j - 1 to row j below the diagonal.
  void (*find_resolvents)(const Tridiagonal<T>& matrix, const Poles<T>& poles, T* diagonals, T* ratios);
  /// The lower triangle of `scale` times their sum into f (n, n), whose upper one may change. Lists that begin with row
  /// j give the n rows and columns from j on. `strip`: 64 bytes for each row.
  void (*sum_resolvents)(const T* diagonals, const T* ratios, std::int64_t poles, std::int64_t n, T scale, T* strip,
                         T* f, std::int64_t stride);

  // For functions of a block tridiagonal one (band_root.h).
  // Scratch begins at a cache line.
  /// Whether sign A + shift I is positive definite for each of kBand shifts: 1, or else 0. `scratch`: 3 kBand^3
  /// numbers.
  void (*find_definite)(const BlockTridiagonal<T>& matrix, T sign, const T* shifts, T* scratch, T* definite);
  /// For each weight (A + shift I)^-1, A + shift I positive definite, of a multiple of kBand poles: writes the blocks
  /// of its diagonal, (poles.count, blocks), and the ratios, of that shape too, that take the blocks' row j - 1 to row
  /// j below the diagonal. `scratch`: (blocks + 4) kBand^3 numbers.
  void (*find_block_resolvents)(const BlockTridiagonal<T>& matrix, const Poles<T>& poles, T* scratch, T* diagonals,
                                T* ratios);
  /// The lower triangle of `scale` times their sum into f (n, n), whose upper one may change. `strip`: kBandStrip
  /// numbers for each row of the blocks.
  void (*sum_block_resolvents)(const T* diagonals, const T* ratios, std::int64_t poles, std::int64_t n, T scale,
                               T* strip, T* f);
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
/// kDenseAvx512's, but products of bf16 by AVX512-BF16, which takes two numbers at once. It sums them one after the
/// other, as the other tables do, but takes numbers below f32's smallest normal one for zeros.
void multiply_avx512_bf16(const Product<float>& product, float* packed);
inline Dense dense_avx512_bf16() {
  Dense dense = kDenseAvx512;
  dense.f32.multiply = multiply_avx512_bf16;
  return dense;
}
#endif

}  // namespace gradstep::cpu
