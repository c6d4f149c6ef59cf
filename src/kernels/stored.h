// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Sums of squares stay finite. An infinite sum would never fall again, so a sum stops at the largest number that all of
// its encodings can hold.
#pragma once

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

}  // namespace gradstep::kernels
