// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What becomes of numbers of state when they are stored. Sums of squares stay finite: an infinite sum would never fall
// again, so a sum stops at the largest number that all of its encodings can hold. Subnormal numbers become zeros:
// processors may be slow with them, and moments of gradients that stay zero would become such and remain so.
#pragma once

#include "kernels/convert.h"
#include "kernels/macros.h"

namespace gradstep::kernels {

/// The largest that a sum of squares becomes. In f32 it is the largest bfloat16, for states may be rounded to that.
template <class T>
inline constexpr T kLargestStored = T{0x1.fep127F};
template <>
inline constexpr double kLargestStored<double> = 0x1.fffffffffffffp1023;

/// A sum of squares as it is stored; NaN stays NaN. V is T or a vector of T.
template <class T, class V>
GRADSTEP_FORMULA V storable(V sum, T largest = kLargestStored<T>) {
  const V bound = largest - V{};
  return bound < sum ? bound : sum;
}

/// kLargestStored<T>, which rules keep as a member. GCC must not know the number: it would take its root beforehand and
/// choose between two roots, by three instructions instead of one.
template <class T>
GRADSTEP_FORMULA T largest_stored() {
#if defined(__CUDACC__)
  return kLargestStored<T>;
#else
  const volatile T largest = kLargestStored<T>;
  return largest;
#endif
}

/// Numbers by their bits, words or vectors of them: a subnormal one becomes the zero of its sign.
template <class T, class Words>
GRADSTEP_FORMULA Words without_subnormal(Words bits) {
  constexpr BitsOf<T> kSign = BitsOf<T>{1} << (8 * sizeof(T) - 1);
  return (bits & Exponent<T>::kMask) == 0 ? bits & kSign : bits;
}

// A number of state, or a vector of them, as it is stored.
GRADSTEP_FORMULA float stored(float x) { return float_of(without_subnormal<float>(bits_of(x))); }
GRADSTEP_FORMULA double stored(double x) {
  return __builtin_bit_cast(double, without_subnormal<double>(__builtin_bit_cast(std::uint64_t, x)));
}
template <class V>
GRADSTEP_FORMULA V stored(V x) {
  using Words = typename Lanes<V>::Words;
  return Lanes<Words>::floats_of(without_subnormal<float>(Lanes<Words>::words_of(x)));
}

}  // namespace gradstep::kernels
