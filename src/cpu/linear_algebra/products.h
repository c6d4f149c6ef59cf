// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrix products with the scratch of a thread, and Shampoo's two forms of them.
#pragma once

#include <cstdint>

#include "core/aligned_vector.h"
#include "cpu/linear_algebra/dense.h"

namespace gradstep::cpu {

/// The inner loops in one precision, and the scratch that their products pack operands into, which grows.
template <class T>
class Products {
 public:
  Products(const DenseLoops<T>& loops, AlignedVector<T>& packed) : loops_(&loops), packed_(&packed) {}

  static std::size_t packed_size(const Product<T>& product) {
    return static_cast<std::size_t>(packed_columns(product) + packed_rows(product));
  }

  const DenseLoops<T>& loops() const { return *loops_; }
  void multiply(const Product<T>& product) const {
    const std::size_t size = packed_size(product);
    if (packed_->size() < size) packed_->resize(size);
    loops_->multiply(product, packed_->data());
  }
  /// c = a b of compact n x n matrices.
  void multiply_square(const T* a, const T* b, std::int64_t n, T* c) const {
    multiply({.rows = n, .columns = n, .depth = n, .a = {a, n}, .b = {b, n}, .c = c, .c_stride = n});
  }
  /// y = a x, of a compact n x n matrix.
  void multiply_vector(const T* a, const T* x, std::int64_t n, T* y) const {
    for (std::int64_t i = 0; i < n; ++i) y[i] = loops_->dot(a + i * n, x, n);
  }

 private:
  const DenseLoops<T>* loops_;
  AlignedVector<T>* packed_;
};

/// An axis of n places among the numbers around it, (outer, n, inner). The last axis that is not 1 is contiguous.
struct AxisLayout {
  std::int64_t outer = 1;
  std::int64_t n = 1;
  std::int64_t inner = 1;
  std::int64_t outer_stride = 0;
  std::int64_t stride = 1;
};

/// Of the product that update_statistic and contract_axis do most of; without pointers, to reserve scratch.
Product<float> statistic_product(const AxisLayout& layout);
Product<float> contraction_product(const AxisLayout& layout);

/// s = keep * s + add * (x contracted with itself over all axes but the middle one). s (n, n) is symmetric to the bit.
void update_statistic(const Products<float>& products, const float* x, const AxisLayout& layout, float keep, float add,
                      float* s);

/// y = x with its middle axis contracted with the rows of p (n, n), or with its columns if `by_columns`.
void contract_axis(const Products<float>& products, const float* x, const AxisLayout& from, const float* p,
                   bool by_columns, float* y, const AxisLayout& to);

/// The upper triangle from the lower one of an n x n matrix.
template <class T>
void mirror_lower(T* s, std::int64_t n);

}  // namespace gradstep::cpu
