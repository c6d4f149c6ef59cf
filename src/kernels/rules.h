// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The list of update rules. A new rule is a file beside this one and a line in each of the two lists below; every
// device instantiates its loops over RuleList, in f32 and f64.
#pragma once

#include <cstdint>

#include "kernels/adam.h"
#include "kernels/sgd.h"

namespace gradstep::kernels {

inline constexpr int kMaxStates = 4;

template <template <class> class... Rules>
struct RuleListOf {
  static constexpr int kCount = sizeof...(Rules);
};

using RuleList = RuleListOf<Sgd, SgdDecay, SgdMomentum, SgdMomentumDecay, SgdNesterov, SgdNesterovDecay, Adam,
                            AdamCoupled, AdamDecoupled>;

/// Positions in RuleList.
enum class RuleId : std::int32_t {
  sgd,
  sgd_decay,
  sgd_momentum,
  sgd_momentum_decay,
  sgd_nesterov,
  sgd_nesterov_decay,
  adam,
  adam_coupled,
  adam_decoupled,
  count,
};

static_assert(static_cast<int>(RuleId::count) == RuleList::kCount);

}  // namespace gradstep::kernels
