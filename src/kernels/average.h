// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Averages of the weights over the steps: which steps are in one, and how much of it each of them leaves.
#pragma once

#include <cstdint>

#include "kernels/macros.h"

namespace gradstep::kernels {

struct AverageForm {
  double decay = 0;           ///< what an averaged step leaves of it (EMA)
  std::int64_t start = 0;     ///< the first step that is averaged; until then the average is the weights
  std::int64_t every = 1;     ///< from there on every such step is
  std::int32_t warms_up = 0;  ///< the decay is at most (1 + n) / (10 + n), n: the values that are in the average
  std::int32_t is_equal = 0;  ///< the mean of the averaged steps (SWA) in place of the decay

  constexpr bool exists() const { return decay > 0 || is_equal != 0; }
};

/// The share of the average that stays in the step before which `steps` steps were made. 0: the average becomes the
/// weights; 1: it is left alone.
GRADSTEP_FORMULA double kept_share(const AverageForm& form, double steps) {
  const std::int64_t past = static_cast<std::int64_t>(steps) - form.start;
  if (past <= 0) return 0;
  if (past % form.every != 0) return 1;
  const std::int64_t averaged = past / form.every;
  const auto n = static_cast<double>(averaged);
  if (form.is_equal != 0) return n / (n + 1);
  const double ramp = (1 + n) / (10 + n);
  return form.warms_up != 0 && ramp < form.decay ? ramp : form.decay;
}

}  // namespace gradstep::kernels
