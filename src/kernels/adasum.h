// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What Adasum leaves of each of the vectors that it adds. The rule for two is that of Maleki et al. 2021 ("Scaling
// distributed training with adaptive summation"), where half of what the one has in common with the other is taken
// away:
//
//     A(a, b) = (1 - a.b / (2 |a|^2)) a + (1 - a.b / (2 |b|^2)) b
//
// The rule for all at once is Trax's, with s the sum of all P vectors:
//
//     sum_i (1 - (g_i.s - |g_i|^2) / (P |g_i|^2)) g_i
//
// A zero vector is left as it is, and added. Vectors may be stored for 2^-e of themselves: squares of f64 may leave
// f64's range, as those of f32 never do.
#pragma once

#include <cstdint>

#include "kernels/fold.h"
#include "kernels/macros.h"
#include "kernels/step.h"

namespace gradstep::kernels {

/// Dot products of two vectors, in f64.
struct Dots {
  double ab = 0;
  double aa = 0;
  double bb = 0;
};

GRADSTEP_FORMULA Dots operator+(const Dots& x, const Dots& y) { return {x.ab + y.ab, x.aa + y.aa, x.bb + y.bb}; }

/// Adds up the dots of a vector's chunks, which lie `stride` apart.
GRADSTEP_FORMULA Dots fold_dots(const Dots* dots, std::int64_t chunks, std::int64_t stride) {
  return fold<Dots>(chunks, [&](std::int64_t c) { return dots[c * stride]; });
}

GRADSTEP_FORMULA double times_power_of_two(double x, int exponent) { return __builtin_ldexp(x, exponent); }

/// What makes of x, which is stored for 2^-own x, its part in 2^k A(a, b), the other vector being stored for 2^-other
/// of itself: 2^k (1 - a.b / (2 |a|^2)) in terms of what is stored.
GRADSTEP_FORMULA double adasum_pair_factor(double dot, double square, int own, int other) {
  const int k = own < other ? own : other;
  const double kept = times_power_of_two(1, k - own);
  return square == 0 ? kept : kept - times_power_of_two(dot / (2 * square), k - other);
}

/// The factor of one of `ranks` vectors. `own` and `smallest` say for which power of two of itself a vector is stored;
/// dots are of the vector with the sum.
GRADSTEP_FORMULA double adasum_factor_among(const Dots& dots, double ranks, int own, int smallest) {
  const double kept = times_power_of_two(1, smallest - own);
  return dots.aa == 0 ? kept : kept - (dots.ab - kept * dots.aa) / (ranks * dots.aa);
}

enum class AdasumRule : std::uint8_t {
  pair,  ///< of two vectors; their dots are one list
  all,   ///< of any number; there is one list for each vector and the sum, side by side
};

/// The factors of one merge.
struct AdasumFactors {
  AdasumRule rule = AdasumRule::pair;
  const int* exponents = nullptr;  ///< vector v is stored for 2^-exponents[v] of itself; NULL = all are 0

  GRADSTEP_FORMULA int exponent(std::int64_t v) const { return exponents != nullptr ? exponents[v] : 0; }

  /// factors[v] for all `count` vectors, by dots_of(list); false = all are the quiet NaN because one is not finite:
  /// whatever NaNs the vectors have, what comes out is to be that one, as of vectors of zeros.
  template <class DotsOf>
  GRADSTEP_FORMULA bool write(std::int64_t count, DotsOf dots_of, double* factors) const {
    if (rule == AdasumRule::pair) {
      const Dots whole = dots_of(0);
      factors[0] = adasum_pair_factor(whole.ab, whole.aa, exponent(0), exponent(1));
      factors[1] = adasum_pair_factor(whole.ab, whole.bb, exponent(1), exponent(0));
    } else {
      int smallest = exponent(0);
      for (std::int64_t v = 1; v < count; ++v) smallest = exponent(v) < smallest ? exponent(v) : smallest;
      for (std::int64_t v = 0; v < count; ++v) {
        factors[v] = adasum_factor_among(dots_of(v), static_cast<double>(count), exponent(v), smallest);
      }
    }
    bool finite = true;
    for (std::int64_t v = 0; v < count; ++v) finite = finite && is_finite(factors[v]);
    for (std::int64_t v = 0; v < count && !finite; ++v) factors[v] = __builtin_nan("");
    return finite;
  }
};

}  // namespace gradstep::kernels
