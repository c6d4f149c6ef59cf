// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/linear_algebra/roots.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/newton_ladder.h"
#include "backend/power_iteration.h"
#include "kernels/eigenbasis.h"
#include "kernels/inverse_root.h"

namespace gradstep::cpu {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kSmallestForLapack = 256;      // below it nothing is to be gained
constexpr std::int64_t kSmallestWithoutVectors = 32;  // below it they cost less
constexpr double kLargestExpected = 1e6;              // eigenvalue, where the ridge does not follow it

double ridge_of(const RootResult& result, const RootOptions& options) {
  return kernels::root_ridge(options.ridge_factor * options.matrix_epsilon, options.absolute_ridge,
                             result.max_eigenvalue);
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

/// t = q(M), whose square comes to `square`.
template <class T, class Multiply>
void write_newton_factor(const kernels::NewtonStep& step, std::int64_t n, const T* m, T* square, T* t,
                         Multiply multiply) {
  const auto linear = static_cast<T>(step.linear);
  const std::int64_t count = n * n;
  if (step.square == 0) {
    for (std::int64_t i = 0; i < count; ++i) t[i] = linear * m[i];
  } else {
    multiply(m, m, square);
    const auto quadratic = static_cast<T>(step.square);
    for (std::int64_t i = 0; i < count; ++i) t[i] = linear * m[i] + quadratic * square[i];
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

/// What newton_error() takes.
template <class T>
double newton_distance(const kernels::NewtonForm& form, const T* m, std::int64_t n) {
  if (form.source_steps) return largest_difference(m, n);
  double squares = 0;
  for_each_difference_from_identity(m, n, [&](double x) { squares += x * x; });
  return squares;
}

}  // namespace

template <class T>
void RootSolver<T>::reserve(std::int64_t n, std::int64_t padded) {
  // All begin at cache lines. The last four are the eigensolver's scratch.
  const auto lines = [](std::int64_t count) { return static_cast<std::size_t>((count + 15) / 16 * 16); };
  const std::size_t square = lines(n * n);
  const std::size_t vector = lines(std::max(2 * n, padded));
  const std::size_t needed = 6 * square + 4 * vector;
  if (storage_.size() < needed) storage_.resize(needed);
  T* next = storage_.data();
  for (T** matrix : {&statistic_, &a_, &b_, &c_, &d_, &root_}) {
    *matrix = next;
    next += square;
  }
  for (T** list : {&x_, &y_, &z_, &values_}) {
    *list = next;
    next += vector;
  }
}

/// Newton's rungs are shared by all: see reserve_roots().
template <class T>
void RootSolver<T>::reserve(RootAction action, std::int64_t n, const RootOptions& options) {
  reserve(n, options.padded);
  products(options).reserve(std::max(n, ReflectorBlock<T>::kReflectors));
  if (action == RootAction::refine) return orthonormal_basis_.reserve(n);
  if (action == RootAction::root && options.method != RootMethod::eigh) return;
  const bool has_foreign = options.lapack != nullptr && n >= kSmallestForLapack;
  if (has_foreign) lapack_scratch_.reserve(n);
  const std::int64_t own = has_foreign ? kSmallestForLapack : n;
  eigensolver_.reserve(own);
  if (action != RootAction::root) return;
  tridiagonal_root_.reserve(own, options.matrix_epsilon / (options.absolute_ridge ? kLargestExpected : 1));
}

/// False if a number is not finite.
template <class T>
template <class Stored>
bool RootSolver<T>::load(const Stored* statistic, std::int64_t n) {
  bool finite = true;
  for (std::int64_t i = 0; i < n * n; ++i) {
    statistic_[i] = static_cast<T>(statistic[i]);
    finite = finite && std::isfinite(statistic[i]);
  }
  return finite;
}

template <class T>
template <class Stored>
RootResult RootSolver<T>::inverse_root(const Stored* statistic, std::int64_t n, const RootOptions& options) {
  reserve(n, options.padded);
  if (!load(statistic, n)) {
    RootResult result;
    result.error = result.max_eigenvalue = kNan;
    return result;
  }
  return options.method == RootMethod::eigh ? eigh(n, options) : newton(n, options);
}

/// The statistic into values_ and the rows of a_.
template <class T>
bool RootSolver<T>::decompose(std::int64_t n, const RootOptions& options) {
  if (options.lapack != nullptr && n >= kSmallestForLapack) {
    return options.lapack->decompose(statistic_, n, values_, a_, lapack_scratch_);
  }
  return eigensolver_.decompose(products(options), statistic_, n, values_, a_, b_);
}

template <class T>
template <class Stored>
bool RootSolver<T>::eigenvectors(const Stored* statistic, std::int64_t n, const RootOptions& options) {
  reserve(n, 0);
  if (!load(statistic, n) || !decompose(n, options)) return false;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) root_[i * n + j] = a_[(n - 1 - j) * n + i];
  }
  return true;
}

template <class T>
template <class Stored>
bool RootSolver<T>::refine_basis(const Stored* statistic, const Stored* basis, std::int64_t n,
                                 const RootOptions& options, Stored* order) {
  reserve(n, 0);
  if (!load(statistic, n)) return false;
  for (std::int64_t i = 0; i < n * n; ++i) a_[i] = static_cast<T>(basis[i]);
  products(options).multiply_square(statistic_, a_, n, b_);
  std::fill_n(values_, n, T{0});
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) values_[j] += a_[i * n + j] * b_[i * n + j];
  }
  for (std::int64_t j = 0; j < n; ++j) order[j] = static_cast<Stored>(j);
  std::stable_sort(order, order + n, [&](Stored j, Stored k) {
    const auto own = static_cast<std::int64_t>(j);
    const auto other = static_cast<std::int64_t>(k);
    return kernels::comes_before(values_[own], own, values_[other], other);
  });
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) c_[j * n + i] = b_[i * n + static_cast<std::int64_t>(order[j])];
  }
  orthonormal_basis_.make(products(options), c_, n, d_);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) root_[i * n + j] = d_[j * n + i];
  }
  return true;
}

/// Power iteration from a fixed vector over the extended matrix, whose largest eigenvalue is about `largest` where the
/// smallest is sought.
template <class T>
double RootSolver<T>::power_iteration(std::int64_t n, const RootOptions& options, kernels::End end, double largest) {
  const std::int64_t size = std::max(n, options.padded);
  PowerIterationStart numbers;
  for (std::int64_t i = 0; i < size; ++i) x_[i] = static_cast<T>(numbers.next());
  double eigenvalue = 0;
  for (int i = 0; i < kernels::power_iterations(end); ++i) {
    const double norm = std::sqrt(dot(x_, x_, size));
    if (norm == 0) break;  // it has no other eigenvalue
    for (std::int64_t j = 0; j < size; ++j) x_[j] = static_cast<T>(x_[j] / norm);
    products(options).multiply_vector(statistic_, x_, n, y_);
    for (std::int64_t j = n; j < size; ++j) y_[j] = static_cast<T>(options.pad_value * x_[j]);
    const double next = dot(x_, y_, size);
    const bool moves = kernels::eigenvalue_moves(next, eigenvalue);
    eigenvalue = next;
    if (end == kernels::End::largest) {
      std::swap(x_, y_);
      if (!moves) break;
    } else {
      for (std::int64_t j = 0; j < size; ++j) x_[j] = static_cast<T>(largest * x_[j] - y_[j]);
    }
  }
  return eigenvalue;
}

/// Measures D, which is in a_ without its extension.
template <class T>
kernels::NewtonMeasures RootSolver<T>::newton_measures(std::int64_t n, const RootOptions& options,
                                                       const RootResult& result) {
  kernels::NewtonMeasures measures;
  for (std::int64_t i = 0; i < n; ++i) measures.trace += a_[i * n + i];
  measures.squares = dot(a_, a_, n * n);
  measures.pad = options.pad_value + result.ridge;
  measures.ridge = result.ridge;
  measures.largest = result.max_eigenvalue;
  if (!options.source_steps) {
    measures.smallest = power_iteration(n, options, kernels::End::smallest, result.max_eigenvalue);
  }
  return measures;
}

template <class T>
RootResult RootSolver<T>::newton(std::int64_t n, const RootOptions& options) {
  const std::int32_t p = options.exponent;
  const auto padding = static_cast<double>(std::max<std::int64_t>(0, options.padded - n));
  const kernels::NewtonForm form{p, static_cast<double>(n), padding, options.source_steps};
  // What comes of codes is only nearly symmetric.
  if (!form.source_steps) products(options).loops().mirror_lower(statistic_, n, n);
  RootResult result;
  result.max_eigenvalue = power_iteration(n, options, kernels::End::largest);
  result.ridge = ridge_of(result, options);
  if (n == 1 && padding == 0) {
    root_[0] = static_cast<T>(kernels::inverse_root(statistic_[0] + result.ridge, p));
    result.error = std::isfinite(root_[0]) ? 0 : kNan;
    return result;
  }
  const auto count = static_cast<std::size_t>(n * n);
  T* m = a_;
  T* h = b_;
  T* t = c_;
  T* spare = d_;
  const auto multiply = [&](const T* a, const T* b, T* c) {
    if (form.source_steps) return products(options).multiply_square(a, b, n, c);
    products(options).multiply_commuting(a, b, n, c);
  };
  std::copy_n(statistic_, count, m);
  add_to_diagonal(m, n, result.ridge);
  const kernels::NewtonLadder& ladder = newton_ladder(p);
  const kernels::NewtonStart start = kernels::newton_start(form, ladder, newton_measures(n, options, result));
  for (std::size_t i = 0; i < count; ++i) m[i] = static_cast<T>(m[i] * start.z);
  const auto first = static_cast<T>(std::pow(start.z, 1.0 / p));  // H_0, of its diagonal
  std::fill_n(h, count, T{0});
  add_to_diagonal(h, n, first);
  T* previous = root_;
  kernels::NewtonState state = kernels::begin_newton(form, newton_distance(form, m, n), start);
  for (bool is_first = true; kernels::goes_on<T>(form, ladder, state); is_first = false) {
    write_newton_factor(state.step, n, m, spare, t, multiply);
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
  if (state.takes_previous) std::swap(h, previous);
  if (h != root_) std::copy_n(h, count, root_);
  make_symmetric(root_, n);
  result.error = state.error;
  result.iterations = state.iterations;
  return result;
}

/// h = keep h + V diag(f) V^T for f >= 0 and V's columns, `vectors` of them, in the rows of a_, symmetric to the bit:
/// with V sqrt(f) half a product.
template <class T>
void RootSolver<T>::recompose(const Products<T>& products, const T* f, std::int64_t vectors, std::int64_t n, T keep,
                              T* h) {
  for (std::int64_t i = 0; i < vectors; ++i) {
    const T factor = std::sqrt(f[i]);
    for (std::int64_t j = 0; j < n; ++j) b_[i * n + j] = factor * a_[i * n + j];
  }
  const Operand<T> half{b_, n};
  products.multiply({.rows = n,
                     .columns = n,
                     .depth = vectors,
                     .a = half.transposed(),
                     .b = half,
                     .c = h,
                     .c_stride = n,
                     .keep = keep,
                     .only_lower = true});
  products.loops().mirror_lower(h, n, n);
}

/// What the ridge is made from.
template <class T>
double RootSolver<T>::estimate(std::int64_t n, const RootOptions& options, double largest) {
  return options.padded > 0 ? power_iteration(n, options, kernels::End::largest) : largest;
}

template <class T>
RootResult RootSolver<T>::eigh(std::int64_t n, const RootOptions& options) {
  // The lower triangle is what is decomposed. What comes of codes is not quite symmetric, and its residual would tell.
  products(options).loops().mirror_lower(statistic_, n, n);
  const bool is_foreign = options.lapack != nullptr && n >= kSmallestForLapack;
  if (!is_foreign && n >= kSmallestWithoutVectors) return root_of_tridiagonal_form(n, options);
  RootResult result;
  const bool decomposed = decompose(n, options);
  result.max_eigenvalue = estimate(n, options, static_cast<double>(values_[n - 1]));
  result.ridge = ridge_of(result, options);
  if (decomposed) return root_of_eigenvectors(n, options, result);
  result.error = kNan;
  return result;
}

/// By a function of the tridiagonal form, or, where an eigenvalue has to be raised, by the form's eigenvectors.
template <class T>
RootResult RootSolver<T>::root_of_tridiagonal_form(std::int64_t n, const RootOptions& options) {
  RootResult result;
  T* reflectors = root_;
  if (!eigensolver_.reduce(products(options), statistic_, n, values_, reflectors, b_)) {
    result.error = result.max_eigenvalue = kNan;
    return result;
  }
  const int exponent = eigensolver_.exponent();
  tridiagonal_root_.begin(products(options), values_, eigensolver_.off_diagonal(), n);
  result.max_eigenvalue = estimate(n, options, std::ldexp(tridiagonal_root_.largest_eigenvalue(), exponent));
  result.ridge = ridge_of(result, options);
  const double scale = std::exp2(-exponent / static_cast<double>(options.exponent));
  if (tridiagonal_root_.compute(std::ldexp(result.ridge, -exponent), options.exponent, scale, a_)) {
    eigensolver_.form().transform_function(products(options), reflectors, n, a_);
    std::swap(root_, a_);
    result.error = residual(n, options, result.ridge);
    return result;
  }
  if (eigensolver_.find_vectors(products(options), n, values_, reflectors, a_, b_)) {
    return root_of_eigenvectors(n, options, result);
  }
  result.error = kNan;
  return result;
}

/// From values_ and the rows of a_. S and S + ridge I share their vectors.
template <class T>
RootResult RootSolver<T>::root_of_eigenvectors(std::int64_t n, const RootOptions& options, RootResult result) {
  for (std::int64_t i = 0; i < n; ++i) {
    z_[i] = static_cast<T>(kernels::root_eigenvalue(values_[i], result.ridge, options.exponent));
  }
  recompose(products(options), z_, n, n, 0, root_);
  // The residual is that of the statistic whose least eigenvalues, which come first, are raised.
  std::int64_t raised = 0;
  for (; raised < n; ++raised) {
    const double by = kernels::raise_of_eigenvalue(values_[raised], result.ridge);
    if (!(by > 0)) break;
    z_[raised] = static_cast<T>(by);
  }
  if (raised > 0) recompose(products(options), z_, raised, n, 1, statistic_);
  result.error = residual(n, options, result.ridge);
  return result;
}

template <class T>
double RootSolver<T>::residual(std::int64_t n, const RootOptions& options, double ridge) {
  static_assert(kernels::kProbes == 2);
  const DenseLoops<T>& loops = options.arithmetic->dense.in<T>();
  const auto sign = [n](std::int64_t i) { return static_cast<T>(kernels::sign_of_probe(i / n, i % n)); };
  for (std::int64_t i = 0; i < 2 * n; ++i) x_[i] = sign(i);
  loops.multiply_two(statistic_, n, n, x_, n, y_);
  for (std::int64_t i = 0; i < 2 * n; ++i) y_[i] += static_cast<T>(ridge) * x_[i];
  for (std::int32_t k = 0; k < options.exponent; ++k) {
    loops.multiply_two(root_, n, n, y_, n, x_);
    std::swap(x_, y_);
  }
  double worst = 0;
  for (std::int64_t i = 0; i < 2 * n; ++i) kernels::take_magnitude(static_cast<double>(y_[i] - sign(i)), worst);
  return worst > kernels::kDoubtfulResidual<T> ? full_residual(n, options, ridge) : worst;
}

template <class T>
double RootSolver<T>::full_residual(std::int64_t n, const RootOptions& options, double ridge) {
  std::copy_n(statistic_, static_cast<std::size_t>(n * n), a_);
  add_to_diagonal(a_, n, ridge);
  for (std::int32_t k = 0; k < options.exponent; ++k) {
    products(options).multiply_square(root_, a_, n, b_);
    std::swap(a_, b_);
  }
  return largest_difference(a_, n);
}

template class RootSolver<double>;
template class RootSolver<float>;
template RootResult RootSolver<double>::inverse_root(const float* statistic, std::int64_t n,
                                                     const RootOptions& options);
template bool RootSolver<double>::eigenvectors(const float* statistic, std::int64_t n, const RootOptions& options);
template bool RootSolver<double>::refine_basis(const float* statistic, const float* basis, std::int64_t n,
                                               const RootOptions& options, float* order);
template RootResult RootSolver<double>::inverse_root(const double* statistic, std::int64_t n,
                                                     const RootOptions& options);
template bool RootSolver<double>::eigenvectors(const double* statistic, std::int64_t n, const RootOptions& options);
template bool RootSolver<double>::refine_basis(const double* statistic, const double* basis, std::int64_t n,
                                               const RootOptions& options, double* order);
template RootResult RootSolver<float>::inverse_root(const float* statistic, std::int64_t n, const RootOptions& options);
template bool RootSolver<float>::eigenvectors(const float* statistic, std::int64_t n, const RootOptions& options);
template bool RootSolver<float>::refine_basis(const float* statistic, const float* basis, std::int64_t n,
                                              const RootOptions& options, float* order);
template RootResult RootSolver<float>::inverse_root(const double* statistic, std::int64_t n,
                                                    const RootOptions& options);
template bool RootSolver<float>::eigenvectors(const double* statistic, std::int64_t n, const RootOptions& options);
template bool RootSolver<float>::refine_basis(const double* statistic, const double* basis, std::int64_t n,
                                              const RootOptions& options, double* order);

}  // namespace gradstep::cpu
