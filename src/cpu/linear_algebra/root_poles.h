// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What (A + ridge I)^(-1/p) as a sum of resolvents needs to know of A's eigenvalues, and the poles of the sum.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/aligned_vector.h"
#include "cpu/linear_algebra/dense.h"
#include "cpu/linear_algebra/partial_fractions.h"
#include "kernels/inverse_root.h"

namespace gradstep::cpu {

/// An upper bound of the largest eigenvalue, which is in [low, high], to a few roundings. count_not_above(shifts): how
/// many of kSturmShifts ascending shifts do not lie above all eigenvalues.
template <class T, class CountNotAbove>
double bound_largest_eigenvalue(T low, T high, CountNotAbove count_not_above) {
  T shifts[kSturmShifts];
  const T rounding = 4 * std::numeric_limits<T>::epsilon();
  while (high - low > rounding * std::max(std::abs(low), std::abs(high))) {
    const T step = (high - low) / (kSturmShifts + 1);
    for (std::int64_t k = 0; k < kSturmShifts; ++k) shifts[k] = low + static_cast<T>(k + 1) * step;
    const std::int64_t below = count_not_above(shifts);
    if (below < kSturmShifts) high = shifts[below];
    if (below > 0) low = shifts[below - 1];
    if (!(step > 0)) break;
  }
  return static_cast<double>(high);
}

/// A lower bound of A + ridge I's eigenvalues, within a factor of three or so where they are not further apart than the
/// precision can tell; 0 if one is below ridge / 2. count_below(shifts): how many of kSturmShifts ascending shifts lie
/// below all eigenvalues.
template <class T, class CountBelow>
double bound_smallest_damped(double largest, double ridge, CountBelow count_below) {
  const double least = kernels::smallest_damped(ridge);
  const double factor = std::pow((largest + ridge) / least, 1.0 / kSturmShifts);
  T shifts[kSturmShifts];
  double damped[kSturmShifts];
  for (std::int64_t k = 0; k < kSturmShifts; ++k) {
    damped[k] = least * std::pow(factor, static_cast<double>(k));
    shifts[k] = static_cast<T>(damped[k] - ridge);
  }
  const std::int64_t count = count_below(shifts);
  return count > 0 ? damped[count - 1] : 0;
}

/// The largest exponent of an expansion: the larger, the closer to 0 is the least node of a rule.
inline constexpr std::int32_t kLargestExponent = 64;

/// The poles of an expansion in the arithmetic of T, filled up to a multiple of `Group`.
template <class T, std::int64_t Group>
class RootPoles {
 public:
  /// False for exponents above kLargestExponent.
  bool expand(std::int32_t exponent, double ridge, double smallest, double largest) {
    if (exponent > kLargestExponent) return false;
    using Accuracy = PartialFractions::Accuracy;
    fractions_.expand_inverse_root(exponent, smallest, largest + ridge,
                                   kernels::kIsWide<T> ? Accuracy::f64 : Accuracy::f32);
    const std::size_t poles = fractions_.shifts().size();
    const std::size_t count = whole_groups(poles);
    if (numbers_.size() < 2 * count) numbers_.resize(2 * count);
    T* shifts = numbers_.data();
    T* weights = shifts + count;
    for (std::size_t k = 0; k < count; ++k) {
      shifts[k] = static_cast<T>(ridge + (k < poles ? fractions_.shifts()[k] : 1));
      weights[k] = static_cast<T>(k < poles ? fractions_.weights()[k] : 0);
    }
    poles_ = {shifts, weights, static_cast<std::int64_t>(count)};
    return true;
  }
  const Poles<T>& get() const { return poles_; }

  /// How many there are at most where the ridge is `epsilon` times the largest eigenvalue, or more.
  static std::size_t most(double epsilon) {
    constexpr std::size_t kUsual = 64;  // so that a root after another spectrum takes no memory
    return std::max(whole_groups(PartialFractions::most_poles(2 * (1 + 1 / epsilon))), kUsual);
  }
  void reserve(std::size_t poles) {
    fractions_.reserve(poles);
    numbers_.reserve(2 * poles);
  }
  std::size_t bytes() const { return numbers_.capacity() * sizeof(T); }

 private:
  static std::size_t whole_groups(std::size_t poles) {
    constexpr auto kGroup = static_cast<std::size_t>(Group);
    return (poles + kGroup - 1) / kGroup * kGroup;
  }

  PartialFractions fractions_;
  AlignedVector<T> numbers_;  // shifts, then weights
  Poles<T> poles_;
};

}  // namespace gradstep::cpu
