// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/linear_algebra/eigensolver/reflectors.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gradstep::cpu {

template <class T>
Reflection<T> make_reflector(const DenseLoops<T>& loops, T* x, std::int64_t count) {
  // Below it squares have lost digits, and a vector of their length would not be normed.
  constexpr T kNegligible = std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon();
  const T first = x[0];
  const T squares = loops.dot(x + 1, x + 1, count - 1);
  x[0] = 1;
  if (!(squares > kNegligible)) {
    std::fill_n(x + 1, count - 1, T{0});
    return {first, 0};
  }
  const T length = std::sqrt(first * first + squares);
  const T beta = first > 0 ? -length : length;
  const T pivot = first - beta;
  for (std::int64_t i = 1; i < count; ++i) x[i] /= pivot;
  return {beta, (beta - first) / beta};
}

template <class T>
void ReflectorBlock<T>::form(const Products<T>& products, const T* reflectors, std::int64_t stride, std::int64_t count,
                             std::int64_t length, const T* scales) {
  reflectors_ = reflectors;
  stride_ = stride;
  count_ = count;
  length_ = length;
  T gram[kReflectors * kReflectors];
  const Operand<T> rows{reflectors, stride};
  products.multiply({.rows = count,
                     .columns = count,
                     .depth = length,
                     .a = rows,
                     .b = rows.transposed(),
                     .c = gram,
                     .c_stride = kReflectors,
                     .only_lower = true});
  // Column j of T is -scale_j T (V^T v_j) above the diagonal.
  std::fill_n(triangle_, kReflectors * kReflectors, T{0});
  for (std::int64_t j = 0; j < count; ++j) {
    for (std::int64_t i = 0; i < j; ++i) {
      T sum = 0;
      for (std::int64_t k = i; k < j; ++k) sum += triangle_[i * kReflectors + k] * gram[j * kReflectors + k];
      triangle_[i * kReflectors + j] = -scales[j] * sum;
    }
    triangle_[j * kReflectors + j] = scales[j];
  }
}

template <class T>
void ReflectorBlock<T>::apply(const Products<T>& products, bool backwards, T* x, std::int64_t stride,
                              std::int64_t rows) {
  const auto size = static_cast<std::size_t>(rows * kReflectors);
  if (dots_.size() < size) {
    dots_.resize(size);
    turned_.resize(size);
  }
  const Operand<T> reflectors{reflectors_, stride_};
  const Operand<T> triangle{triangle_, kReflectors};
  products.multiply({.rows = rows,
                     .columns = count_,
                     .depth = length_,
                     .a = {x, stride},
                     .b = reflectors.transposed(),
                     .c = dots_.data(),
                     .c_stride = kReflectors});
  products.multiply({.rows = rows,
                     .columns = count_,
                     .depth = count_,
                     .a = {dots_.data(), kReflectors},
                     .b = backwards ? triangle.transposed() : triangle,
                     .c = turned_.data(),
                     .c_stride = kReflectors});
  products.multiply({.rows = rows,
                     .columns = length_,
                     .depth = count_,
                     .a = {turned_.data(), kReflectors},
                     .b = reflectors,
                     .c = x,
                     .c_stride = stride,
                     .keep = 1,
                     .add = -1});
}

template Reflection<double> make_reflector(const DenseLoops<double>&, double*, std::int64_t);
template Reflection<float> make_reflector(const DenseLoops<float>&, float*, std::int64_t);
template class ReflectorBlock<double>;
template class ReflectorBlock<float>;

}  // namespace gradstep::cpu
