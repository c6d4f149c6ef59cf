// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/linear_algebra/eigensolver/eigensolver.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gradstep::cpu {

template <class T>
bool Eigensolver<T>::decompose(const Products<T>& products, const T* a, std::int64_t n, T* values, T* vectors,
                               T* scratch) {
  T largest = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      if (!std::isfinite(a[i * n + j])) return false;
      largest = std::max(largest, std::abs(a[i * n + j]));
    }
  }
  // By a power of two: squares of numbers up to 1 stay finite, and nothing is rounded.
  int exponent = 0;
  std::frexp(largest, &exponent);
  exponent = std::max(exponent, 2 - std::numeric_limits<T>::max_exponent);
  const T scale = std::ldexp(T{1}, -exponent);
  T* reflectors = scratch + 3 * n * n;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) scratch[i * n + j] = scale * a[i * n + j];
  }
  off_diagonal_.resize(static_cast<std::size_t>(n));
  form_.reduce(products, scratch, n, reflectors, values, off_diagonal_.data());
  if (!conquer_.solve(products, values, off_diagonal_.data(), n, vectors, scratch)) return false;
  form_.transform_back(products, reflectors, n, vectors);
  for (std::int64_t i = 0; i < n; ++i) values[i] = std::ldexp(values[i], exponent);
  return true;
}

template class Eigensolver<double>;
template class Eigensolver<float>;

}  // namespace gradstep::cpu
