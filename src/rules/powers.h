// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/elementary.h"

namespace gradstep::rules {

/// base^exponent of a base of at least 0, with 0^0 = 1. Small whole exponents are exact products.
GRADSTEP_FORMULA double power_of(double base, double exponent) {
  if (exponent == 0) return 1;
  if (exponent == 1) return base;
  if (exponent == 2) return base * base;
  if (!(base >= 0x1p-1022)) return 0;
  return kernels::exponential(exponent * kernels::logarithm(base));
}

}  // namespace gradstep::rules
