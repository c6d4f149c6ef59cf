// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/power.h"

namespace gradstep::rules {

/// Powers of a group's hyper-parameters that the last step left behind.
struct Powers {
  static constexpr int kCount = 2;
  kernels::Power of[kCount];
};

/// The step that constants are computed for.
struct Clock {
  std::int64_t t = 0;     ///< steps before this one
  bool is_first = false;  ///< no gradient has gone into the state
  Powers& powers;

  /// base^(t+1). Each `slot` belongs to one hyper-parameter.
  GRADSTEP_FORMULA double power(int slot, double base) const { return powers.of[slot](base, t + 1); }
};

}  // namespace gradstep::rules
