// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Householder's reflectors (1958), H = I - scale v v^T with v[0] = 1.
#pragma once

#include <limits>

#include "kernels/macros.h"

namespace gradstep::kernels {

/// Takes (first, rest) to (beta, 0, ...), where v is (1, rest / pivot).
template <class T>
struct Reflection {
  T beta;
  T scale;
  T pivot;
};

/// `squares`: of the rest's numbers, the sum. Where it is too small to count, the rest is taken for zero, the scale is
/// 0 and the pivot infinite; so vectors are to have been scaled.
template <class T>
GRADSTEP_FORMULA Reflection<T> reflection(T first, T squares) {
  // Below it squares have lost digits, and a vector of their length would not be normed.
  constexpr T kNegligible = std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon();
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  if (!(squares > kNegligible)) return {first, 0, kInfinity};
  const T length = square_root(first * first + squares);
  const T beta = first > 0 ? -length : length;
  return {beta, (beta - first) / beta, first - beta};
}

}  // namespace gradstep::kernels
