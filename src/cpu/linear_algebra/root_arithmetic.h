// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What all ways to a root share.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "backend/power_iteration.h"
#include "core/function_ref.h"
#include "cpu/linear_algebra/products.h"
#include "cpu/linear_algebra/root_options.h"
#include "kernels/inverse_root.h"

namespace gradstep::cpu {

/// Writes the statistic into a matrix (n, n). False if a number is not finite.
template <class T>
using ReadStatistic = FunctionRef<bool(T*)>;

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

inline double ridge_of(const RootResult& result, const RootOptions& options) {
  return kernels::root_ridge(options.ridge_factor * options.matrix_epsilon, options.absolute_ridge,
                             result.max_eigenvalue);
}

inline RootResult without_root() {
  RootResult result;
  result.error = result.max_eigenvalue = kNan;
  return result;
}

template <class T>
double dot(const T* a, const T* b, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

template <class T>
void add_to_diagonal(T* a, std::int64_t n, double value) {
  for (std::int64_t i = 0; i < n; ++i) a[i * n + i] += static_cast<T>(value);
}

/// take(a - I) for each number there.
template <class T, class Take>
void for_each_difference_from_identity(const T* a, std::int64_t n, Take take) {
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) take(static_cast<double>(a[i * n + j]) - (i == j ? 1 : 0));
  }
}

/// max |a - I|; NaN if there is one.
template <class T>
double largest_difference(const T* a, std::int64_t n) {
  double largest = 0;
  for_each_difference_from_identity(a, n, [&](double x) { kernels::take_magnitude(x, largest); });
  return largest;
}

/// Vectors of max(n, padded) numbers.
template <class T>
struct PowerScratch {
  T* x;
  T* y;
};

/// Power iteration from a fixed vector over the extended matrix, whose largest eigenvalue is about `largest` where the
/// smallest is sought.
template <class T>
double power_iteration(const Products<T>& products, const T* statistic, std::int64_t n, const RootOptions& options,
                       const PowerScratch<T>& scratch, kernels::End end, double largest = 0) {
  const std::int64_t size = std::max(n, options.padded);
  auto [x, y] = scratch;
  PowerIterationStart numbers;
  for (std::int64_t i = 0; i < size; ++i) x[i] = static_cast<T>(numbers.next());
  double eigenvalue = 0;
  for (int i = 0; i < kernels::power_iterations(end); ++i) {
    const double norm = std::sqrt(dot(x, x, size));
    if (norm == 0) break;  // it has no other eigenvalue
    for (std::int64_t j = 0; j < size; ++j) x[j] = static_cast<T>(x[j] / norm);
    products.multiply_vector(statistic, x, n, y);
    for (std::int64_t j = n; j < size; ++j) y[j] = static_cast<T>(options.pad_value * x[j]);
    const double next = dot(x, y, size);
    const bool moves = kernels::eigenvalue_moves(next, eigenvalue);
    eigenvalue = next;
    if (end == kernels::End::largest) {
      std::swap(x, y);
      if (!moves) break;
    } else {
      for (std::int64_t j = 0; j < size; ++j) x[j] = static_cast<T>(largest * x[j] - y[j]);
    }
  }
  return eigenvalue;
}

}  // namespace gradstep::cpu
