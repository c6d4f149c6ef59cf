// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/macros.h"

namespace gradstep::rules {

/// The largest |g| with which an average that takes in (1 - decay) * g^2 stays within `largest`.
inline double largest_square(double decay, double largest) {
  const double added = 1 - decay;
  return kernels::square_root(largest) / kernels::square_root(added > 0 ? added : 1);
}

}  // namespace gradstep::rules
