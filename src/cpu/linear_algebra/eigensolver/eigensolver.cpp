// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/linear_algebra/eigensolver/eigensolver.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gradstep::cpu {

template <class T>
bool scale_down(T* a, std::int64_t n, int& exponent) {
  T largest = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      if (!std::isfinite(a[i * n + j])) return false;
      largest = std::max(largest, std::abs(a[i * n + j]));
    }
  }
  std::frexp(largest, &exponent);
  exponent = std::max(exponent, 2 - std::numeric_limits<T>::max_exponent);
  const T scale = std::ldexp(T{1}, -exponent);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) a[i * n + j] = scale * a[i * n + j];
  }
  return true;
}

template <class T>
bool Eigensolver<T>::reduce(const Products<T>& products, T* a, std::int64_t n, T* diagonal) {
  if (!scale_down(a, n, exponent_)) return false;
  off_diagonal_.resize(static_cast<std::size_t>(n));
  form_.reduce(products, a, n, diagonal, off_diagonal_.data());
  return true;
}

template <class T>
bool Eigensolver<T>::find_vectors(const Products<T>& products, std::int64_t n, T* diagonal, const T* reflectors,
                                  T* vectors, T* scratch) {
  if (!conquer_.solve(products, diagonal, off_diagonal_.data(), n, vectors, scratch)) return false;
  form_.transform_back(products, reflectors, n, vectors);
  for (std::int64_t i = 0; i < n; ++i) diagonal[i] = std::ldexp(diagonal[i], exponent_);
  return true;
}

template <class T>
bool Eigensolver<T>::decompose(const Products<T>& products, T* a, std::int64_t n, T* values, T* vectors, T* scratch) {
  return reduce(products, a, n, values) && find_vectors(products, n, values, a, vectors, scratch);
}

template bool scale_down(double*, std::int64_t, int&);
template bool scale_down(float*, std::int64_t, int&);
template class Eigensolver<double>;
template class Eigensolver<float>;

}  // namespace gradstep::cpu
