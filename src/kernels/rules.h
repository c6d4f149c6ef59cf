// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The list of update rules. A new rule is a file beside this one and a line in each of the two lists below; every
// device instantiates its loops over RuleList, in f32 and f64.
#pragma once

#include <cstdint>

#include "kernels/adagrad.h"
#include "kernels/adam.h"
#include "kernels/rmsprop.h"
#include "kernels/sgd.h"

namespace gradstep::kernels {

inline constexpr int kMaxStates = 4;

template <template <class> class... Rules>
struct RuleListOf {
  static constexpr int kCount = sizeof...(Rules);
};

using RuleList = RuleListOf<Sgd, SgdDecay, SgdMomentum, SgdMomentumDecay, SgdNesterov, SgdNesterovDecay, RmsProp,
                            RmsPropDecay, RmsPropMomentum, RmsPropMomentumDecay, RmsPropCentered, RmsPropCenteredDecay,
                            RmsPropCenteredMomentum, RmsPropCenteredMomentumDecay, AdaGrad, AdaGradDecay, Adam,
                            AdamCoupled, AdamDecoupled, Amsgrad, AmsgradCoupled, AmsgradDecoupled>;

/// Positions in RuleList.
enum class RuleId : std::int32_t {
  sgd,
  sgd_decay,
  sgd_momentum,
  sgd_momentum_decay,
  sgd_nesterov,
  sgd_nesterov_decay,
  rmsprop,
  rmsprop_decay,
  rmsprop_momentum,
  rmsprop_momentum_decay,
  rmsprop_centered,
  rmsprop_centered_decay,
  rmsprop_centered_momentum,
  rmsprop_centered_momentum_decay,
  adagrad,
  adagrad_decay,
  adam,
  adam_coupled,
  adam_decoupled,
  amsgrad,
  amsgrad_coupled,
  amsgrad_decoupled,
  count,
};

static_assert(static_cast<int>(RuleId::count) == RuleList::kCount);

}  // namespace gradstep::kernels
