// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/macros.h"

namespace gradstep::kernels {

GRADSTEP_FORMULA float magnitude(float x) { return __builtin_fabsf(x); }
GRADSTEP_FORMULA double magnitude(double x) { return __builtin_fabs(x); }

/// `largest`, of magnitudes so far, takes in x. A NaN is larger than all, and stays.
template <class T>
GRADSTEP_FORMULA void take_magnitude(T x, T& largest) {
  const T own = magnitude(x);
  if (!(own <= largest)) largest = __builtin_isnan(largest) ? largest : own;  // rarely
}

}  // namespace gradstep::kernels
