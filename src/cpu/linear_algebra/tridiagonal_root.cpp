// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/linear_algebra/tridiagonal_root.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/inverse_root.h"

namespace gradstep::cpu {

namespace {

constexpr std::int32_t kLargestExponent = 64;  // the larger, the closer to 0 is the least node of a rule
constexpr std::size_t kUsualPoles = 64;        // so that a root after another spectrum takes no memory

std::size_t whole_groups(std::size_t poles) { return (poles + kPolesAtOnce - 1) / kPolesAtOnce * kPolesAtOnce; }

}  // namespace

template <class T>
void TridiagonalRoot<T>::begin(const Products<T>& products, const T* diagonal, const T* off_diagonal, std::int64_t n) {
  loops_ = &products.loops();
  matrix_ = {diagonal, off_diagonal, n, std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon()};
  largest_ = std::numeric_limits<double>::quiet_NaN();
}

/// By counting, from Gershgorin's bounds to a few roundings.
template <class T>
double TridiagonalRoot<T>::largest_eigenvalue() {
  const auto [diagonal, off_diagonal, n, smallest_pivot] = matrix_;
  T low = diagonal[0];
  T high = diagonal[0];
  for (std::int64_t i = 0; i < n; ++i) {
    const T before = i > 0 ? std::abs(off_diagonal[i - 1]) : T{0};
    const T after = i + 1 < n ? std::abs(off_diagonal[i]) : T{0};
    low = std::max(low, diagonal[i]);  // no more than the largest one
    high = std::max(high, diagonal[i] + before + after);
  }
  T shifts[kSturmShifts];
  std::int64_t counts[kSturmShifts];
  const T rounding = 4 * std::numeric_limits<T>::epsilon();
  while (high - low > rounding * std::max(std::abs(low), std::abs(high))) {
    const T step = (high - low) / (kSturmShifts + 1);
    for (std::int64_t k = 0; k < kSturmShifts; ++k) shifts[k] = low + static_cast<T>(k + 1) * step;
    count_below(shifts, counts);
    const auto below = std::find(counts, counts + kSturmShifts, n) - counts;
    if (below < kSturmShifts) high = shifts[below];
    if (below > 0) low = shifts[below - 1];
    if (!(step > 0)) break;
  }
  largest_ = static_cast<double>(high);
  return largest_;
}

/// A lower bound of T + ridge I's eigenvalues, within a factor of three or so where they are not further apart than the
/// precision can tell; 0 if one is below ridge / 2.
template <class T>
double TridiagonalRoot<T>::smallest_damped(double ridge) const {
  const double least = kernels::smallest_damped(ridge);
  const double factor = std::pow((largest_ + ridge) / least, 1.0 / kSturmShifts);
  T shifts[kSturmShifts];
  std::int64_t counts[kSturmShifts];
  double damped[kSturmShifts];
  for (std::int64_t k = 0; k < kSturmShifts; ++k) {
    damped[k] = least * std::pow(factor, static_cast<double>(k));
    shifts[k] = static_cast<T>(damped[k] - ridge);
  }
  count_below(shifts, counts);
  double bound = 0;
  for (std::int64_t k = 0; k < kSturmShifts && counts[k] == 0; ++k) bound = damped[k];
  return bound;
}

template <class T>
void TridiagonalRoot<T>::reserve(std::int64_t n, double epsilon) {
  const std::size_t poles = PartialFractions::most_poles(2 * (1 + 1 / epsilon));
  fractions_.reserve(poles);
  const auto rows = static_cast<std::size_t>(n);
  const std::size_t room = std::max(whole_groups(poles), kUsualPoles);
  poles_.reserve(2 * room);
  diagonals_.reserve(rows * room);
  ratios_.reserve(rows * room);
  strip_.reserve(rows * (64 / sizeof(T)));
}

template <class T>
bool TridiagonalRoot<T>::compute(double ridge, std::int32_t exponent, double scale, T* f) {
  const double smallest = smallest_damped(ridge);
  if (exponent > kLargestExponent || !(smallest > 0)) return false;
  using Accuracy = PartialFractions::Accuracy;
  fractions_.expand_inverse_root(exponent, smallest, largest_ + ridge,
                                 kernels::kIsWide<T> ? Accuracy::f64 : Accuracy::f32);
  const std::size_t poles = fractions_.shifts().size();
  const std::size_t count = whole_groups(poles);
  const auto n = static_cast<std::size_t>(matrix_.n);
  const std::size_t room = std::max(count, kUsualPoles);
  if (poles_.size() < 2 * room) poles_.resize(2 * room);
  if (diagonals_.size() < n * room) diagonals_.resize(n * room);
  if (ratios_.size() < n * room) ratios_.resize(n * room);
  const std::size_t strip = n * (64 / sizeof(T));
  if (strip_.size() < strip) strip_.resize(strip);
  T* shifts = poles_.data();
  T* weights = shifts + count;
  for (std::size_t k = 0; k < count; ++k) {
    shifts[k] = static_cast<T>(ridge + (k < poles ? fractions_.shifts()[k] : 1));
    weights[k] = static_cast<T>(k < poles ? fractions_.weights()[k] : 0);
  }
  loops_->find_resolvents(matrix_, {shifts, weights, static_cast<std::int64_t>(count)}, diagonals_.data(),
                          ratios_.data());
  loops_->sum_resolvents(diagonals_.data(), ratios_.data(), static_cast<std::int64_t>(count), matrix_.n,
                         static_cast<T>(scale), strip_.data(), f);
  return true;
}

template class TridiagonalRoot<double>;
template class TridiagonalRoot<float>;

}  // namespace gradstep::cpu
