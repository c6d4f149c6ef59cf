// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/linear_algebra/roots.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "cpu/linear_algebra/newton_root.h"
#include "cpu/linear_algebra/root_arithmetic.h"
#include "kernels/eigenbasis.h"
#include "kernels/inverse_root.h"

namespace gradstep::cpu {

namespace {

constexpr std::int64_t kSmallestForLapack = 256;      // below it nothing is to be gained
constexpr std::int64_t kSmallestWithoutVectors = 32;  // below it they cost less
/// From here on a matrix is reduced to a band alone.
template <class T>
constexpr std::int64_t kSmallestOfBands = kernels::kIsWide<T> ? 1024 : 1536;
constexpr double kLargestExpected = 1e6;  // eigenvalue, where the ridge does not follow it

/// False if a number is not finite.
template <class T, class Stored>
bool copy_finite(const Stored* from, std::int64_t count, T* to) {
  using Bits = kernels::BitsOf<Stored>;
  Bits nonfinite = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    to[i] = static_cast<T>(from[i]);
    nonfinite |= static_cast<Bits>(kernels::is_nonfinite<Stored>(std::bit_cast<Bits>(from[i])) ? 1 : 0);
  }
  return nonfinite == 0;
}

/// The lower triangle of a (n, n), row by row.
template <class T>
void pack_triangle(const T* a, std::int64_t n, T* triangle) {
  for (std::int64_t i = 0; i < n; ++i) triangle = std::copy_n(a + i * n, i + 1, triangle);
}
template <class T>
void unpack_triangle(const T* triangle, std::int64_t n, T* a) {
  for (std::int64_t i = 0; i < n; triangle += ++i) std::copy_n(triangle, i + 1, a + i * n);
}

}  // namespace

template <class T>
void RootSolver<T>::reserve(RootAction action, RootMethod method, std::int64_t n, std::int64_t padded) {
  const bool is_root = action == RootAction::root;
  const bool is_newton = is_root && method != RootMethod::eigh;
  const std::size_t squares = is_newton ? kMostSquares : 2;
  const bool has_vectors = !is_newton && action != RootAction::refine;
  // Each matrix and each list begins at a cache line.
  const auto lines = [](std::int64_t count) { return static_cast<std::size_t>((count + 15) / 16 * 16); };
  const std::size_t square = lines(n * n);
  const std::size_t triangle = has_vectors ? lines(n * (n + 1) / 2) : 0;
  const std::size_t panel = is_newton ? 0 : lines(std::min(n, kPanel) * n);
  const std::size_t vector = lines(std::max(2 * n, padded));
  const std::size_t needed = squares * square + triangle + panel + 4 * vector;
  grow(storage_, needed);
  T* next = storage_.data();
  for (std::size_t i = 0; i < squares; ++i, next += square) squares_[i] = next;
  triangle_ = next;
  panel_ = triangle_ + triangle;
  next = panel_ + panel;
  for (T** list : {&x_, &y_, &z_, &values_}) {
    *list = next;
    next += vector;
  }
}

/// Newton's rungs are shared by all: see reserve_roots().
template <class T>
void RootSolver<T>::reserve(RootAction action, std::int64_t n, const RootOptions& options) {
  reserve(action, options.method, n, options.padded);
  products(options).reserve(std::max(n, ReflectorBlock<T>::kReflectors));
  if (action == RootAction::refine) return orthonormal_basis_.reserve(n);
  if (action == RootAction::root && options.method != RootMethod::eigh) return;
  const bool has_foreign = options.lapack != nullptr && n >= kSmallestForLapack;
  if (has_foreign) lapack_scratch_.reserve(n);
  const std::int64_t own = has_foreign ? kSmallestForLapack : n;
  eigensolver_.reserve(own);
  if (action != RootAction::root) return;
  const double epsilon = options.matrix_epsilon / (options.absolute_ridge ? kLargestExpected : 1);
  tridiagonal_root_.reserve(std::min(own, kSmallestOfBands<T>), epsilon);
  if (own < kSmallestOfBands<T>) return;
  band_form_.reserve(own);
  band_root_.reserve(own, epsilon);
}

template <class T>
template <class Stored>
RootResult RootSolver<T>::inverse_root(const Stored* statistic, std::int64_t n, const RootOptions& options) {
  reserve(RootAction::root, options.method, n, options.padded);
  const bool is_eigh = options.method == RootMethod::eigh;
  // What comes of codes is only nearly symmetric: the lower triangle counts, but for the source's steps.
  const auto read = [&](T* to) {
    const bool finite = copy_finite(statistic, n * n, to);
    if (!is_eigh && !options.source_steps) products(options).loops().mirror_lower(to, n, n);
    return finite;
  };
  if (is_eigh) return eigh(n, options, read);
  return newton_root(products(options), n, options, {read}, {squares_, {x_, y_}}, root_);
}

/// The first matrix into values_ and the rows of the second one.
template <class T>
bool RootSolver<T>::decompose(std::int64_t n, const RootOptions& options) {
  if (options.lapack != nullptr && n >= kSmallestForLapack) {
    return options.lapack->decompose(squares_[0], n, values_, squares_[1], lapack_scratch_);
  }
  return eigensolver_.decompose(products(options), squares_[0], n, values_, squares_[1], triangle_);
}

template <class T>
template <class Stored>
bool RootSolver<T>::eigenvectors(const Stored* statistic, std::int64_t n, const RootOptions& options) {
  reserve(RootAction::eigenvectors, options.method, n, 0);
  root_ = squares_[0];
  const T* vectors = squares_[1];
  if (!copy_finite(statistic, n * n, squares_[0]) || !decompose(n, options)) return false;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) root_[i * n + j] = vectors[(n - 1 - j) * n + i];
  }
  return true;
}

template <class T>
template <class Stored>
bool RootSolver<T>::refine_basis(const Stored* statistic, const Stored* basis, std::int64_t n,
                                 const RootOptions& options, Stored* order) {
  reserve(RootAction::refine, options.method, n, 0);
  T* s = squares_[0];
  T* turned = squares_[1];  // the basis, and then s times it
  if (!copy_finite(statistic, n * n, s)) return false;
  for (std::int64_t i = 0; i < n * n; ++i) turned[i] = static_cast<T>(basis[i]);
  std::fill_n(values_, n, T{0});
  multiply_in_place(products(options), s, n, turned, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < count; ++j) values_[first + j] += panel_[i * count + j] * turned[i * n + first + j];
    }
  });
  for (std::int64_t j = 0; j < n; ++j) order[j] = static_cast<Stored>(j);
  std::stable_sort(order, order + n, [&](Stored j, Stored k) {
    const auto own = static_cast<std::int64_t>(j);
    const auto other = static_cast<std::int64_t>(k);
    return kernels::comes_before(values_[own], own, values_[other], other);
  });
  T* columns = s;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) columns[j * n + i] = turned[i * n + static_cast<std::int64_t>(order[j])];
  }
  T* q = turned;
  orthonormal_basis_.make(products(options), columns, n, q);
  root_ = columns;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) root_[i * n + j] = q[j * n + i];
  }
  return true;
}

/// b = a b, some columns after the other; then(first, count) when the old ones are in panel_ (n, count).
template <class T>
void RootSolver<T>::multiply_in_place(const Products<T>& products, const T* a, std::int64_t n, T* b,
                                      FunctionRef<void(std::int64_t first, std::int64_t count)> then) {
  for (std::int64_t first = 0; first < n; first += kPanel) {
    const std::int64_t count = std::min(kPanel, n - first);
    for (std::int64_t i = 0; i < n; ++i) std::copy_n(b + i * n + first, count, panel_ + i * count);
    products.multiply(
        {.rows = n, .columns = count, .depth = n, .a = {a, n}, .b = {panel_, count}, .c = b + first, .c_stride = n});
    then(first, count);
  }
}

/// h = keep h + V diag(f) V^T for f >= 0 and V's columns, `vectors` of them, in the rows of the second matrix,
/// symmetric to the bit: with V sqrt(f) half a product. It is cut where products cut their depth.
template <class T>
void RootSolver<T>::recompose(const Products<T>& products, const T* f, std::int64_t vectors, std::int64_t n, T keep,
                              T* h) {
  static_assert(kPanel == kProductDepth);
  const T* v = squares_[1];
  const Operand<T> half{panel_, n};
  for (std::int64_t first = 0; first < vectors; first += kPanel) {
    const std::int64_t count = std::min(kPanel, vectors - first);
    for (std::int64_t i = 0; i < count; ++i) {
      const T factor = std::sqrt(f[first + i]);
      for (std::int64_t j = 0; j < n; ++j) panel_[i * n + j] = factor * v[(first + i) * n + j];
    }
    products.multiply({.rows = n,
                       .columns = n,
                       .depth = count,
                       .a = half.transposed(),
                       .b = half,
                       .c = h,
                       .c_stride = n,
                       .keep = first == 0 ? keep : 1,
                       .only_lower = true});
  }
  products.loops().mirror_lower(h, n, n);
}

/// The lower triangle of the statistics that are read here counts; residual() and largest_of_padded() make the upper
/// one from it.
template <class T>
RootResult RootSolver<T>::eigh(std::int64_t n, const RootOptions& options, ReadStatistic<T> read) {
  if (!read(squares_[0])) return without_root();
  const bool is_foreign = options.lapack != nullptr && n >= kSmallestForLapack;
  if (!is_foreign && n >= kSmallestWithoutVectors) {
    if (n < kSmallestOfBands<T>) return root_of_tridiagonal_form(n, options, read);
    if (options.exponent <= kLargestExponent) return root_of_band_form(n, options, read);
  }
  const bool decomposed = decompose(n, options);
  RootResult result;
  result.max_eigenvalue = static_cast<double>(values_[n - 1]);
  if (options.padded > 0) result.max_eigenvalue = largest_of_padded(n, options, read, squares_[0]);
  result.ridge = ridge_of(result, options);
  if (decomposed) {
    return root_of_eigenvectors(n, options, read, is_foreign ? lapack_scratch_.numbers.data() : triangle_, result);
  }
  result.error = kNan;
  return result;
}

/// From a form of 2^-exponent S whose reflectors are in the first matrix, and functions of what they leave. False if an
/// eigenvalue has to be raised: the root is to be made from eigenvectors.
template <class T>
template <class Form, class Function>
bool RootSolver<T>::root_of_function(std::int64_t n, const RootOptions& options, ReadStatistic<T> read, int exponent,
                                     Form& form, Function& function, RootResult& result) {
  T* reflectors = squares_[0];
  T* other = squares_[1];
  result.max_eigenvalue = std::ldexp(function.largest_eigenvalue(), exponent);
  if (options.padded > 0) result.max_eigenvalue = largest_of_padded(n, options, read, other);
  result.ridge = ridge_of(result, options);
  const double scale = std::exp2(-exponent / static_cast<double>(options.exponent));
  if (!function.expand(std::ldexp(result.ridge, -exponent), options.exponent, scale)) return false;
  form.transform_function(products(options), reflectors, n, function, other);
  root_ = other;
  T* statistic = reflectors;
  read(statistic);
  result.error = residual(statistic, n, options, result.ridge);
  return true;
}

template <class T>
RootResult RootSolver<T>::root_of_tridiagonal_form(std::int64_t n, const RootOptions& options, ReadStatistic<T> read) {
  if (!eigensolver_.reduce(products(options), squares_[0], n, values_)) return without_root();
  tridiagonal_root_.begin(products(options), values_, eigensolver_.off_diagonal(), n);
  RootResult result;
  if (root_of_function(n, options, read, eigensolver_.exponent(), eigensolver_.form(), tridiagonal_root_, result)) {
    return result;
  }
  if (eigensolver_.find_vectors(products(options), n, values_, squares_[0], squares_[1], triangle_)) {
    return root_of_eigenvectors(n, options, read, triangle_, result);
  }
  result.error = kNan;
  return result;
}

template <class T>
RootResult RootSolver<T>::root_of_band_form(std::int64_t n, const RootOptions& options, ReadStatistic<T> read) {
  int exponent = 0;
  if (!scale_down(squares_[0], n, exponent)) return without_root();
  band_form_.reduce(products(options), squares_[0], n);
  band_root_.begin(products(options), band_form_.band(), n);
  RootResult result;
  if (root_of_function(n, options, read, exponent, band_form_, band_root_, result)) return result;
  read(squares_[0]);
  if (decompose(n, options)) return root_of_eigenvectors(n, options, read, triangle_, result);
  result.error = kNan;
  return result;
}

/// From values_ and the rows of the second matrix. S and S + ridge I share their vectors. `triangle`: half a matrix.
template <class T>
RootResult RootSolver<T>::root_of_eigenvectors(std::int64_t n, const RootOptions& options, ReadStatistic<T> read,
                                               T* triangle, RootResult result) {
  T* const first = squares_[0];
  // The residual is that of the statistic whose least eigenvalues, which come first, are raised.
  std::int64_t raised = 0;
  for (; raised < n; ++raised) {
    const double by = kernels::raise_of_eigenvalue(values_[raised], result.ridge);
    if (!(by > 0)) break;
    z_[raised] = static_cast<T>(by);
  }
  if (raised > 0) {
    read(first);
    recompose(products(options), z_, raised, n, 1, first);
    pack_triangle(first, n, triangle);
  }
  for (std::int64_t i = 0; i < n; ++i) {
    z_[i] = static_cast<T>(kernels::root_eigenvalue(values_[i], result.ridge, options.exponent));
  }
  root_ = first;
  recompose(products(options), z_, n, n, 0, root_);
  T* statistic = squares_[1];
  if (raised > 0) {
    unpack_triangle(triangle, n, statistic);
  } else {
    read(statistic);
  }
  result.error = residual(statistic, n, options, result.ridge);
  return result;
}

/// The largest eigenvalue of the statistic, extended as the options say. `room` (n, n) is overwritten.
template <class T>
double RootSolver<T>::largest_of_padded(std::int64_t n, const RootOptions& options, ReadStatistic<T> read, T* room) {
  read(room);
  products(options).loops().mirror_lower(room, n, n);
  return power_iteration(products(options), room, n, options, {x_, y_}, kernels::End::largest);
}

/// By the lower triangle of the statistic, which is overwritten.
template <class T>
double RootSolver<T>::residual(T* statistic, std::int64_t n, const RootOptions& options, double ridge) {
  static_assert(kernels::kProbes == 2);
  const DenseLoops<T>& loops = options.arithmetic->dense.in<T>();
  const auto sign = [n](std::int64_t i) { return static_cast<T>(kernels::sign_of_probe(i / n, i % n)); };
  loops.mirror_lower(statistic, n, n);
  for (std::int64_t i = 0; i < 2 * n; ++i) x_[i] = sign(i);
  loops.multiply_two(statistic, n, n, x_, n, y_);
  for (std::int64_t i = 0; i < 2 * n; ++i) y_[i] += static_cast<T>(ridge) * x_[i];
  for (std::int32_t k = 0; k < options.exponent; ++k) {
    loops.multiply_two(root_, n, n, y_, n, x_);
    std::swap(x_, y_);
  }
  double worst = 0;
  for (std::int64_t i = 0; i < 2 * n; ++i) kernels::take_magnitude(static_cast<double>(y_[i] - sign(i)), worst);
  return worst > kernels::kDoubtfulResidual<T> ? full_residual(statistic, n, options, ridge) : worst;
}

template <class T>
double RootSolver<T>::full_residual(T* statistic, std::int64_t n, const RootOptions& options, double ridge) {
  add_to_diagonal(statistic, n, ridge);
  for (std::int32_t k = 0; k < options.exponent; ++k) {
    multiply_in_place(products(options), root_, n, statistic, [](std::int64_t, std::int64_t) {});
  }
  return largest_difference(statistic, n);
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
