// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What becomes of the units of a gradient before a rule sees it, on every device.
#pragma once

#include "kernels/macros.h"

namespace gradstep::kernels {

/// What a unit is multiplied by in adaptive gradient clipping (Brock et al. 2021, equation 3): the gradient, times
/// `multiplier`, is at most `clip` times as long as the parameter, which counts as `epsilon` long at least.
GRADSTEP_FORMULA double unit_clip_factor(double clip, double epsilon, double gradient_squares, double value_squares,
                                         double multiplier) {
  const double norm = (multiplier < 0 ? -multiplier : multiplier) * square_root(gradient_squares);
  const double value_norm = square_root(value_squares);
  const double limit = clip * (value_norm > epsilon ? value_norm : epsilon);
  return norm > limit ? limit / (norm > 1e-6 ? norm : 1e-6) : 1;
}

}  // namespace gradstep::kernels
