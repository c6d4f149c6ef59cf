// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/linear_algebra/products.h"

#include <algorithm>
#include <cmath>

namespace gradstep::cpu {

namespace {

/// Where part `part` of `parts` begins among `count` rows or columns, at a share of them in [0, 1].
std::int64_t cut_at(double share, std::int64_t count) {
  return std::min<std::int64_t>(count, std::llround(share * static_cast<double>(count) / kLeastPart) * kLeastPart);
}

template <class T>
void multiply_columns(const DenseLoops<T>& loops, Product<T> product, std::int64_t begin, std::int64_t end, T* packed) {
  product.columns = end - begin;
  product.b.data += begin * product.b.column_stride;
  product.c += begin;
  loops.multiply(product, packed);
}

template <class T>
void multiply_rows(const DenseLoops<T>& loops, Product<T> product, std::int64_t begin, std::int64_t end, T* packed) {
  product.rows = end - begin;
  product.a.data += begin * product.a.row_stride;
  product.c += begin * product.c_stride;
  loops.multiply(product, packed);
}

/// Computes rows of the lower triangle: what is left of the part's corner on the diagonal, and the corner.
template <class T>
void multiply_lower_rows(const DenseLoops<T>& loops, const Product<T>& product, std::int64_t begin, std::int64_t end,
                         T* packed) {
  Product<T> left = product;
  left.only_lower = false;
  left.columns = begin;
  if (begin > 0) multiply_rows(loops, left, begin, end, packed);
  Product<T> corner = product;
  corner.rows = end - begin;
  corner.a.data += begin * corner.a.row_stride;
  corner.c += begin * corner.c_stride;
  multiply_columns(loops, corner, begin, end, packed);
}

/// Parts of about equal work; a part may be empty.
template <class T>
void multiply_part(const DenseLoops<T>& loops, const Product<T>& product, std::int64_t part, std::int64_t parts,
                   T* packed) {
  const double first = static_cast<double>(part) / static_cast<double>(parts);
  const double last = static_cast<double>(part + 1) / static_cast<double>(parts);
  const bool by_columns = !product.only_lower && product.columns >= product.rows;
  const std::int64_t count = by_columns ? product.columns : product.rows;
  // A triangle's work grows as the square of its rows.
  const std::int64_t begin = cut_at(product.only_lower ? std::sqrt(first) : first, count);
  const std::int64_t end = part + 1 == parts ? count : cut_at(product.only_lower ? std::sqrt(last) : last, count);
  if (begin == end) return;
  if (product.only_lower) {
    multiply_lower_rows(loops, product, begin, end, packed);
  } else {
    (by_columns ? multiply_columns<T> : multiply_rows<T>)(loops, product, begin, end, packed);
  }
}

/// Numbers of scratch of one part, whole cache lines.
template <class T>
std::size_t packed_size_of_part(const Product<T>& product) {
  return static_cast<std::size_t>((packed_columns(product) + packed_rows(product) + 15) / 16 * 16);
}

}  // namespace

template <class T>
std::size_t Products<T>::packed_size(const Product<T>& product, std::size_t width) {
  return width * packed_size_of_part(product);
}

template <class T>
void Products<T>::multiply(const Product<T>& product) const {
  const bool is_shared = threads_ != nullptr && is_worth_sharing(product);
  const std::size_t parts = is_shared ? threads_->width() : 1;
  const std::size_t size = packed_size_of_part(product);
  grow(*packed_, parts * size);
  if (parts == 1) return loops_->multiply(product, packed_->data());
  threads_->parallel_for(static_cast<std::int64_t>(parts), [&](std::int64_t part) {
    T* packed = packed_->data() + static_cast<std::size_t>(part) * size;
    multiply_part(*loops_, product, part, static_cast<std::int64_t>(parts), packed);
  });
}

template <class T>
void Products<T>::share(std::int64_t count, FunctionRef<void(std::int64_t)> body) const {
  if (threads_ != nullptr) return threads_->parallel_for(count, body);
  for (std::int64_t i = 0; i < count; ++i) body(i);
}

template class Products<double>;
template class Products<float>;

template <class T>
Product<T> statistic_product(const AxisLayout& layout) {
  Product<T> product;
  product.rows = product.columns = product.c_stride = layout.n;
  product.depth = layout.inner == 1 ? layout.outer : layout.inner;
  product.only_lower = true;
  return product;
}

template <class T>
Product<T> contraction_product(const AxisLayout& layout) {
  Product<T> product;
  product.rows = layout.inner == 1 ? layout.outer : layout.n;
  product.columns = layout.inner == 1 ? layout.n : layout.inner;
  product.depth = layout.n;
  return product;
}

template <class T>
void update_statistic(const Products<T>& products, const T* x, const AxisLayout& layout, T keep, T add, T* s) {
  Product<T> product = statistic_product<T>(layout);
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
  products.loops().mirror_lower(s, layout.n, layout.n);
}

template <class T>
void contract_axis(const Products<T>& products, const T* x, const AxisLayout& from, const T* p, bool by_columns, T* y,
                   const AxisLayout& to) {
  Product<T> product = contraction_product<T>(from);
  const Operand<T> matrix{p, from.n};
  if (from.inner == 1) {
    product.a = {x, from.outer_stride, from.stride};
    product.b = by_columns ? matrix.transposed() : matrix;
    product.c = y;
    product.c_stride = to.outer_stride;
    return products.multiply(product);
  }
  product.a = by_columns ? matrix : matrix.transposed();
  product.b = {x, from.stride};
  product.c = y;
  product.c_stride = to.stride;
  products.multiply(product);
}

template Product<float> statistic_product(const AxisLayout& layout);
template Product<float> contraction_product(const AxisLayout& layout);
template void update_statistic(const Products<float>& products, const float* x, const AxisLayout& layout, float keep,
                               float add, float* s);
template void contract_axis(const Products<float>& products, const float* x, const AxisLayout& from, const float* p,
                            bool by_columns, float* y, const AxisLayout& to);
template Product<double> statistic_product(const AxisLayout& layout);
template Product<double> contraction_product(const AxisLayout& layout);
template void update_statistic(const Products<double>& products, const double* x, const AxisLayout& layout, double keep,
                               double add, double* s);
template void contract_axis(const Products<double>& products, const double* x, const AxisLayout& from, const double* p,
                            bool by_columns, double* y, const AxisLayout& to);

}  // namespace gradstep::cpu
