// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/power.h"

namespace gradstep::rules {

/// Powers of a group's hyper-parameters: what the last step computed makes the next ones cheap.
struct Powers {
  static constexpr int kCount = 3;
  kernels::Power of[kCount];
};

/// The step that constants are computed for.
struct Clock {
  std::int64_t t = 0;     ///< steps before this one
  bool is_first = false;  ///< no gradient has gone into the state
  Powers& powers;
  kernels::Fold& kept;               ///< a sum or product over the steps of these constants
  const double* settings = nullptr;  ///< in the order of the description
  const double* numbers = nullptr;   ///< likewise: what the parameter keeps; absent in rules that keep none

  /// base^(t+1). Each `slot` belongs to one hyper-parameter.
  GRADSTEP_FORMULA double power(int slot, double base) const { return powers.of[slot](base, t + 1); }
  /// next(...next(next(initial, 1), 2)..., t + 1). `next` depends on its arguments and on two keys.
  template <class Next>
  GRADSTEP_FORMULA double fold(double key, double other_key, double initial, Next next) const {
    return kept(key, other_key, t + 1, initial, next);
  }
};

}  // namespace gradstep::rules
