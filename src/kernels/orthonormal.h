// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Gram and Schmidt's decision about a vector that has had its parts along others taken away.
#pragma once

#include "kernels/macros.h"

namespace gradstep::kernels {

/// What makes its length 1, by its square before and after; zero where rounding alone is left of it.
template <class T>
GRADSTEP_FORMULA double unit_scale(double before, double after) {
  constexpr double kRounding = sizeof(T) == sizeof(float) ? 1e-12 : 1e-28;
  return after > kRounding * before ? 1 / square_root(after) : 0;
}

}  // namespace gradstep::kernels
