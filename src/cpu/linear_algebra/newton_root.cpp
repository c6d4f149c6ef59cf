// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/linear_algebra/newton_root.h"

#include <cmath>
#include <utility>

#include "backend/newton_ladder.h"

namespace gradstep::cpu {

namespace {

/// t = q(M).
template <class T, class Multiply>
void write_newton_factor(const kernels::NewtonStep& step, std::int64_t n, const T* m, T* t, Multiply multiply) {
  const auto linear = static_cast<T>(step.linear);
  const std::int64_t count = n * n;
  if (step.square == 0) {
    for (std::int64_t i = 0; i < count; ++i) t[i] = linear * m[i];
  } else {
    multiply(m, m, t);
    const auto quadratic = static_cast<T>(step.square);
    for (std::int64_t i = 0; i < count; ++i) t[i] = linear * m[i] + quadratic * t[i];
  }
  add_to_diagonal(t, n, step.constant);
}

/// a = (a + a^T) / 2.
template <class T>
void make_symmetric(T* a, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < i; ++j) {
      a[i * n + j] = a[j * n + i] = (a[i * n + j] + a[j * n + i]) / 2;
    }
  }
}

/// What newton_error() takes.
template <class T>
double newton_distance(const kernels::NewtonForm& form, const T* m, std::int64_t n) {
  if (form.source_steps) return largest_difference(m, n);
  double squares = 0;
  for_each_difference_from_identity(m, n, [&](double x) { squares += x * x; });
  return squares;
}

/// Measures d, D without its extension. `statistic`: a matrix to read it into.
template <class T>
kernels::NewtonMeasures newton_measures(const Products<T>& products, const T* d, std::int64_t n,
                                        const RootOptions& options, ReadStatistic<T> read,
                                        const PowerScratch<T>& vectors, T* statistic, const RootResult& result) {
  kernels::NewtonMeasures measures;
  for (std::int64_t i = 0; i < n; ++i) measures.trace += d[i * n + i];
  measures.squares = dot(d, d, n * n);
  measures.pad = options.pad_value + result.ridge;
  measures.ridge = result.ridge;
  measures.largest = result.max_eigenvalue;
  if (!options.source_steps) {
    read(statistic);
    measures.smallest =
        power_iteration(products, statistic, n, options, vectors, kernels::End::smallest, result.max_eigenvalue);
  }
  return measures;
}

}  // namespace

template <class T>
RootResult newton_root(const Products<T>& products, std::int64_t n, const RootOptions& options, ReadStatistic<T> read,
                       const NewtonScratch<T>& scratch, T*& root) {
  auto [m, h, t, spare, previous] = scratch.squares;
  if (!read(m)) return without_root();
  const std::int32_t p = options.exponent;
  const auto padding = static_cast<double>(std::max<std::int64_t>(0, options.padded - n));
  const kernels::NewtonForm form{p, static_cast<double>(n), padding, options.source_steps};
  RootResult result;
  result.max_eigenvalue = power_iteration(products, m, n, options, scratch.vectors, kernels::End::largest);
  result.ridge = ridge_of(result, options);
  if (n == 1 && padding == 0) {
    root = h;
    root[0] = static_cast<T>(kernels::inverse_root(m[0] + result.ridge, p));
    result.error = std::isfinite(root[0]) ? 0 : kNan;
    return result;
  }
  const auto count = static_cast<std::size_t>(n * n);
  const auto multiply = [&](const T* a, const T* b, T* c) {
    if (form.source_steps) return products.multiply_square(a, b, n, c);
    products.multiply_commuting(a, b, n, c);
  };
  add_to_diagonal(m, n, result.ridge);
  const kernels::NewtonLadder& ladder = newton_ladder(p);
  const kernels::NewtonStart start =
      kernels::newton_start(form, ladder, newton_measures(products, m, n, options, read, scratch.vectors, h, result));
  for (std::size_t i = 0; i < count; ++i) m[i] = static_cast<T>(m[i] * start.z);
  const auto first = static_cast<T>(std::pow(start.z, 1.0 / p));  // H_0, of its diagonal
  std::fill_n(h, count, T{0});
  add_to_diagonal(h, n, first);
  kernels::NewtonState state = kernels::begin_newton(form, newton_distance(form, m, n), start);
  for (bool is_first = true; kernels::goes_on<T>(form, ladder, state); is_first = false) {
    write_newton_factor(state.step, n, m, t, multiply);
    if (is_first) {
      for (std::size_t i = 0; i < count; ++i) previous[i] = first * t[i];
    } else {
      multiply(h, t, previous);
    }
    std::swap(h, previous);
    if (state.is_last) break;
    // M <- T^p M by repeated squaring of T, which has served H already.
    for (std::int32_t bits = p; bits > 0; bits /= 2) {
      if (bits % 2 == 1) {
        multiply(t, m, spare);
        std::swap(m, spare);
      }
      if (bits > 1) {
        multiply(t, t, spare);
        std::swap(t, spare);
      }
    }
    kernels::end_iteration(form, newton_distance(form, m, n), state);
  }
  root = state.takes_previous ? previous : h;
  make_symmetric(root, n);
  result.error = state.error;
  result.iterations = state.iterations;
  return result;
}

template RootResult newton_root(const Products<double>&, std::int64_t, const RootOptions&, ReadStatistic<double>,
                                const NewtonScratch<double>&, double*&);
template RootResult newton_root(const Products<float>&, std::int64_t, const RootOptions&, ReadStatistic<float>,
                                const NewtonScratch<float>&, float*&);

}  // namespace gradstep::cpu
