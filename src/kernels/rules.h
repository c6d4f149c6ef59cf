// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The list of update rules. Every device instantiates its loops over all of them, in f32 and f64; ids, names and
// function objects follow from one line for each. A rule of T is called with numbers of T, or with vectors of them, for
// which Lanes has square_root (kernels/macros.h).
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/adagrad.h"
#include "kernels/adam.h"
#include "kernels/constants.h"
#include "kernels/rmsprop.h"
#include "kernels/sgd.h"

namespace gradstep::kernels {

inline constexpr int kMaxStates = 4;

/// RULE(id, template of the function object)
#define GRADSTEP_RULES(RULE)                                          \
  RULE(sgd, Sgd)                                                      \
  RULE(sgd_decay, SgdDecay)                                           \
  RULE(sgd_momentum, SgdMomentum)                                     \
  RULE(sgd_momentum_decay, SgdMomentumDecay)                          \
  RULE(sgd_nesterov, SgdNesterov)                                     \
  RULE(sgd_nesterov_decay, SgdNesterovDecay)                          \
  RULE(rmsprop, RmsProp)                                              \
  RULE(rmsprop_decay, RmsPropDecay)                                   \
  RULE(rmsprop_momentum, RmsPropMomentum)                             \
  RULE(rmsprop_momentum_decay, RmsPropMomentumDecay)                  \
  RULE(rmsprop_centered, RmsPropCentered)                             \
  RULE(rmsprop_centered_decay, RmsPropCenteredDecay)                  \
  RULE(rmsprop_centered_momentum, RmsPropCenteredMomentum)            \
  RULE(rmsprop_centered_momentum_decay, RmsPropCenteredMomentumDecay) \
  RULE(adagrad, AdaGrad)                                              \
  RULE(adagrad_decay, AdaGradDecay)                                   \
  RULE(adam, Adam)                                                    \
  RULE(adam_coupled, AdamCoupled)                                     \
  RULE(adam_decoupled, AdamDecoupled)                                 \
  RULE(amsgrad, Amsgrad)                                              \
  RULE(amsgrad_coupled, AmsgradCoupled)                               \
  RULE(amsgrad_decoupled, AmsgradDecoupled)

#define GRADSTEP_RULE(id, Rule) id,
enum class RuleId : std::int32_t { GRADSTEP_RULES(GRADSTEP_RULE) count };
#undef GRADSTEP_RULE

inline constexpr int kRules = static_cast<int>(RuleId::count);

/// What a rule is called in reports, by id.
#define GRADSTEP_RULE(id, Rule) #id,
inline constexpr const char* kRuleNames[] = {GRADSTEP_RULES(GRADSTEP_RULE)};
#undef GRADSTEP_RULE

/// What backends have room for: they hand constants over as bytes, and states in arrays of kMaxStates.
template <class Rule>
struct RuleFits {
  using Constants = typename Rule::Constants;
  static_assert(Rule::kStates >= 0 && Rule::kStates <= kMaxStates, "more states than UpdateItem has");
  static_assert(sizeof(Constants) <= sizeof(RuleConstants) && alignof(Constants) <= alignof(RuleConstants),
                "constants do not fit into RuleConstants");
  static_assert(std::is_trivially_copyable_v<Constants>, "constants are copied as bytes");
  static_assert(Rule::kSignedStates >> Rule::kStates == 0, "a sign for a state that there is not");
  static constexpr bool value = true;
};

/// By rule: bit s = its state s has signs.
#define GRADSTEP_RULE(id, Rule) Rule<float>::kSignedStates,
inline constexpr std::uint8_t kSignedStates[] = {GRADSTEP_RULES(GRADSTEP_RULE)};
#undef GRADSTEP_RULE

template <RuleId kId>
struct RuleOf;

// NOLINTBEGIN(bugprone-macro-parentheses): of the name of a template there are none
#define GRADSTEP_RULE(id, Rule)                                                 \
  static_assert(RuleFits<Rule<float>>::value && RuleFits<Rule<double>>::value); \
  template <>                                                                   \
  struct RuleOf<RuleId::id> {                                                   \
    template <class T>                                                          \
    using Type = Rule<T>;                                                       \
  };
GRADSTEP_RULES(GRADSTEP_RULE)
#undef GRADSTEP_RULE
// NOLINTEND(bugprone-macro-parentheses)

/// The function object of a rule in the arithmetic of T.
template <RuleId kId, class T>
using RuleIn = typename RuleOf<kId>::template Type<T>;

}  // namespace gradstep::kernels
