// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/linear_algebra/products.h"

#include <algorithm>

namespace gradstep::cpu {

Product<float> statistic_product(const AxisLayout& layout) {
  Product<float> product;
  product.rows = product.columns = product.c_stride = layout.n;
  product.depth = layout.inner == 1 ? layout.outer : layout.inner;
  product.only_lower = true;
  return product;
}

Product<float> contraction_product(const AxisLayout& layout) {
  Product<float> product;
  product.rows = layout.inner == 1 ? layout.outer : layout.n;
  product.columns = layout.inner == 1 ? layout.n : layout.inner;
  product.depth = layout.n;
  return product;
}

void update_statistic(const Products<float>& products, const float* x, const AxisLayout& layout, float keep, float add,
                      float* s) {
  Product<float> product = statistic_product(layout);
  product.c = s;
  product.keep = keep;
  product.add = add;
  if (layout.inner == 1) {
    product.a = {x, layout.stride, layout.outer_stride};
    product.b = product.a.transposed();
    products.multiply(product);
  } else {
    for (std::int64_t i = 0; i < layout.outer; ++i) {
      product.a = {x + i * layout.outer_stride, layout.stride};
      product.b = product.a.transposed();
      products.multiply(product);
      product.keep = 1;
    }
  }
  mirror_lower(s, layout.n);
}

void contract_axis(const Products<float>& products, const float* x, const AxisLayout& from, const float* p,
                   bool by_columns, float* y, const AxisLayout& to) {
  Product<float> product = contraction_product(from);
  const Operand<float> matrix{p, from.n};
  if (from.inner == 1) {
    product.a = {x, from.outer_stride, from.stride};
    product.b = by_columns ? matrix.transposed() : matrix;
    product.c = y;
    product.c_stride = to.outer_stride;
    return products.multiply(product);
  }
  product.a = by_columns ? matrix : matrix.transposed();
  product.c_stride = to.stride;
  for (std::int64_t i = 0; i < from.outer; ++i) {
    product.b = {x + i * from.outer_stride, from.stride};
    product.c = y + i * to.outer_stride;
    products.multiply(product);
  }
}

template <class T>
void mirror_lower(T* s, std::int64_t n) {
  constexpr std::int64_t kTile = 16;  // what is read and written by columns stays in the caches
  for (std::int64_t top = 0; top < n; top += kTile) {
    for (std::int64_t left = 0; left <= top; left += kTile) {
      for (std::int64_t i = top; i < std::min(n, top + kTile); ++i) {
        for (std::int64_t j = left; j < std::min(i, left + kTile); ++j) s[j * n + i] = s[i * n + j];
      }
    }
  }
}

template void mirror_lower(float* s, std::int64_t n);
template void mirror_lower(double* s, std::int64_t n);

}  // namespace gradstep::cpu
