// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrix products with the scratch of a thread, and Shampoo's two forms of them. Several threads may share one product:
// parts of its rows or columns, whose elements are computed as in the whole.
#pragma once

#include <cstdint>

#include "backend/context.h"
#include "core/aligned_vector.h"
#include "cpu/linear_algebra/dense.h"

namespace gradstep::cpu {

/// The inner loops in one precision, and the scratch that their products pack operands into, which grows.
template <class T>
class Products {
 public:
  /// `threads`: whose threads share what is large; NULL = the calling thread works alone.
  Products(const DenseLoops<T>& loops, AlignedVector<T>& packed, Context* threads = nullptr)
      : loops_(&loops), packed_(&packed), threads_(threads) {}

  /// Numbers of scratch for a product that `width` threads share.
  static std::size_t packed_size(const Product<T>& product, std::size_t width = 1);

  /// So that no product of up to `n` rows, columns and depth takes memory.
  void reserve(std::int64_t n) const {
    packed_->reserve(packed_size({.rows = n, .columns = n, .depth = n}, threads_ != nullptr ? threads_->width() : 1));
  }

  const DenseLoops<T>& loops() const { return *loops_; }
  void multiply(const Product<T>& product) const;
  /// body(i) for every i in [0, count), on these threads.
  void share(std::int64_t count, FunctionRef<void(std::int64_t)> body) const;
  /// c = a b of compact n x n matrices.
  void multiply_square(const T* a, const T* b, std::int64_t n, T* c) const {
    multiply({.rows = n, .columns = n, .depth = n, .a = {a, n}, .b = {b, n}, .c = c, .c_stride = n});
  }
  /// multiply() where c is symmetric, as it is if a and b are and commute: half of the operations.
  void multiply_commuting(const T* a, const T* b, std::int64_t n, T* c) const {
    multiply(
        {.rows = n, .columns = n, .depth = n, .a = {a, n}, .b = {b, n}, .c = c, .c_stride = n, .only_lower = true});
    loops_->mirror_lower(c, n, n);
  }
  /// y = a x, of a compact n x n matrix.
  void multiply_vector(const T* a, const T* x, std::int64_t n, T* y) const {
    loops_->multiply_vector(a, n, n, x, n, y);
  }

 private:
  const DenseLoops<T>* loops_;
  AlignedVector<T>* packed_;
  Context* threads_;
};

extern template class Products<double>;
extern template class Products<float>;

/// The least rows or columns of a thread's part of a product.
inline constexpr std::int64_t kLeastPart = 48;

/// Whether a product is large enough to wake other threads for.
template <class T>
bool is_worth_sharing(const Product<T>& product) {
  return 2 * product.rows * product.columns * product.depth >= 10'000'000;
}

/// An axis of n places among the numbers around it, (outer, n, inner), of which the last ones are contiguous.
struct AxisLayout {
  std::int64_t outer = 1;
  std::int64_t n = 1;
  std::int64_t inner = 1;
  std::int64_t outer_stride = 0;
  std::int64_t stride = 1;

  /// The axis before all others, or behind them, of a compact block.
  static AxisLayout first(std::int64_t n, std::int64_t others) { return {1, n, others, 0, others}; }
  static AxisLayout last(std::int64_t n, std::int64_t others) { return {others, n, 1, n, 1}; }
};

// In the arithmetic of T, f32 or f64.

/// The product that update_statistic and contract_axis do most of, without pointers, to reserve scratch.
template <class T>
Product<T> statistic_product(const AxisLayout& layout);
template <class T>
Product<T> contraction_product(const AxisLayout& layout);

/// s = keep * s + add * (x contracted with itself over all axes but the middle one). s (n, n) is symmetric to the bit.
/// One product if outer or inner is 1, else `outer` of them.
template <class T>
void update_statistic(const Products<T>& products, const T* x, const AxisLayout& layout, T keep, T add, T* s);

/// y = x with its middle axis contracted with the rows of p (n, n), or with its columns if `by_columns`. Outer or inner
/// is 1.
template <class T>
void contract_axis(const Products<T>& products, const T* x, const AxisLayout& from, const T* p, bool by_columns, T* y,
                   const AxisLayout& to);

}  // namespace gradstep::cpu
