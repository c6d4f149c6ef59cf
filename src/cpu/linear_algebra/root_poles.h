// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// (A + ridge I)^(-1/p) as a sum of resolvents: what it needs to know of A's eigenvalues, its poles, and room for its
// summands. tridiagonal_root.h and band_root.h have the resolvents themselves.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/aligned_vector.h"
#include "core/held_bytes.h"
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

/// The summands for one A: their poles in the arithmetic of T, filled up to a multiple of `Group`, and lists for the
/// numbers that each has on A's diagonal and between its rows. With the scratch of a thread, which grows.
template <class T, std::int64_t Group>
class ResolventSum {
 public:
  /// `numbers`: of each summand in each list; `strip`: of some columns of the sum. False for exponents above
  /// kLargestExponent.
  bool expand(std::int32_t exponent, double ridge, double smallest, double largest, std::int64_t numbers,
              std::int64_t strip) {
    if (exponent > kLargestExponent) return false;
    using Accuracy = PartialFractions::Accuracy;
    fractions_.expand_inverse_root(exponent, smallest, largest + ridge,
                                   kernels::kIsWide<T> ? Accuracy::f64 : Accuracy::f32);
    const std::size_t poles = fractions_.shifts().size();
    const std::size_t count = whole_groups(poles);
    grow(poles_, 2 * count);
    T* shifts = poles_.data();
    T* weights = shifts + count;
    for (std::size_t k = 0; k < count; ++k) {
      shifts[k] = static_cast<T>(ridge + (k < poles ? fractions_.shifts()[k] : 1));
      weights[k] = static_cast<T>(k < poles ? fractions_.weights()[k] : 0);
    }
    count_ = static_cast<std::int64_t>(count);
    grow(diagonals_, static_cast<std::size_t>(numbers) * count);
    grow(ratios_, static_cast<std::size_t>(numbers) * count);
    grow(strip_, static_cast<std::size_t>(strip));
    return true;
  }
  Poles<T> poles() const { return {poles_.data(), poles_.data() + count_, count_}; }
  T* diagonals() { return diagonals_.data(); }
  T* ratios() { return ratios_.data(); }
  T* strip() { return strip_.data(); }

  /// For as many numbers, where the ridge is `epsilon` times the largest eigenvalue, or more.
  void reserve(std::int64_t numbers, std::int64_t strip, double epsilon) {
    constexpr std::size_t kUsual = 64;  // so that a root after another spectrum takes no memory
    const std::size_t poles = std::max(whole_groups(PartialFractions::most_poles(2 * (1 + 1 / epsilon))), kUsual);
    fractions_.reserve(poles);
    poles_.reserve(2 * poles);
    diagonals_.reserve(static_cast<std::size_t>(numbers) * poles);
    ratios_.reserve(static_cast<std::size_t>(numbers) * poles);
    strip_.reserve(static_cast<std::size_t>(strip));
  }
  /// The most poles that take no memory.
  std::int64_t reserved_poles() const { return static_cast<std::int64_t>(poles_.capacity() / 2); }
  std::size_t bytes() const { return held_bytes(fractions_, poles_, diagonals_, ratios_, strip_); }

 private:
  static std::size_t whole_groups(std::size_t poles) {
    constexpr auto kGroup = static_cast<std::size_t>(Group);
    return (poles + kGroup - 1) / kGroup * kGroup;
  }

  PartialFractions fractions_;
  std::int64_t count_ = 0;
  AlignedVector<T> poles_;  // shifts, then weights
  AlignedVector<T> diagonals_;
  AlignedVector<T> ratios_;
  AlignedVector<T> strip_;
};

}  // namespace gradstep::cpu
