// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Options as rules describe them, and those that all rules share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>

#include "gradstep/rule.h"
#include "rules/description.h"

namespace gradstep {

/// An option that a rule takes.
struct RuleOption {
  gradstep_option_kind kind = GRADSTEP_OPTION_INVALID;
  const char* name = nullptr;
  const char* meaning = nullptr;
  std::span<const char* const> choices;
  double initial = 0;
  rules::Range range;
};

inline constexpr rules::Range kFlagRange = {.minimum = 0, .limit = 2};

constexpr rules::Range range_of_choices(std::size_t count) {
  return {.minimum = 0, .limit = static_cast<double>(count)};
}

inline constexpr double kLargestExact = 9007199254740992;  // 2^53
inline constexpr rules::Range kAnyInteger = {.minimum = -kLargestExact, .limit = kLargestExact + 2};
inline constexpr double kLastStep = 999999999;
inline constexpr const char* kStateDtypes[] = {"native", "bf16", "int8"};
inline constexpr const char* kDecayModes[] = {"rule", "coupled", "decoupled", "independent", "relative", "corrected"};
inline constexpr const char* kCautiousUpdates[] = {"off", "mean", "sum"};
inline constexpr const char* kAdaptiveClipUnits[] = {"rows", "columns", "second"};
inline constexpr const char* kStepCountings[] = {"optimizer", "parameter"};

/// The places of options that all rules share, behind the rule's own.
struct SharedPlace {
  enum : std::uint8_t {
    maximize,
    master_weights,
    state_dtype,
    stochastic_rounding,
    seed,
    step_counting,
    average_decay,
    decay_mode,
    peak_learning_rate,
    trust_ratio,
    cautious_update,
    cautious_decay,
    adaptive_clip,
    adaptive_clip_epsilon,
    adaptive_clip_units,
    center_gradients,
    average_warmup,
    average_equal,
    average_start,
    average_every,
    count
  };
};

inline constexpr RuleOption kSharedOptions[SharedPlace::count] = {
    {GRADSTEP_OPTION_FLAG, "maximize", "steps up the gradient", {}, 0, kFlagRange},
    {GRADSTEP_OPTION_FLAG, "master_weights", "steps an f32 copy of every f16 and bf16 parameter", {}, 0, kFlagRange},
    {GRADSTEP_OPTION_CHOICE, "state_dtype", "how state is stored; int8: one byte an element, coded in blocks",
     kStateDtypes, 0, range_of_choices(std::size(kStateDtypes))},
    {GRADSTEP_OPTION_FLAG,
     "stochastic_rounding",
     "rounds what is stored in 16 bits at random, exact on average",
     {},
     0,
     kFlagRange},
    {GRADSTEP_OPTION_INTEGER, "seed", "starts stochastic_rounding: equal seeds give equal bits", {}, 0, kAnyInteger},
    {GRADSTEP_OPTION_CHOICE, "step_counting",
     "whose steps t counts; parameter: those that each took part in, as PyTorch does", kStepCountings, 0,
     range_of_choices(std::size(kStepCountings))},
    {GRADSTEP_OPTION_SETTING,
     "average_decay",
     "keeps an average of the weights: this share of it at each step; 0 = none",
     {},
     0,
     rules::kFraction},
    {GRADSTEP_OPTION_CHOICE, "decay_mode",
     "coupled: weight_decay * p is added to the gradient. Others subtract from p: decoupled learning_rate * "
     "weight_decay * p; independent weight_decay * p; relative learning_rate / peak_learning_rate * weight_decay * p; "
     "corrected learning_rate^2 / peak_learning_rate * weight_decay * p. rule: as the rule says",
     kDecayModes, 0, range_of_choices(std::size(kDecayModes))},
    {GRADSTEP_OPTION_SETTING,
     "peak_learning_rate",
     "the largest learning rate of the schedule, for decay_mode",
     {},
     0,
     rules::at_least(0)},
    {GRADSTEP_OPTION_FLAG,
     "trust_ratio",
     "scales the change of each tensor to the tensor's length, times the learning rate (LAMB)",
     {},
     0,
     kFlagRange},
    {GRADSTEP_OPTION_CHOICE, "cautious_update",
     "leaves out elements whose change has the sign of the gradient, and multiplies the others: mean by 1 / max(k / n, "
     "1e-3), sum by n / (k + 1), where k of n elements of the tensor stay",
     kCautiousUpdates, 0, range_of_choices(std::size(kCautiousUpdates))},
    {GRADSTEP_OPTION_FLAG,
     "cautious_decay",
     "weights decay only where that does not oppose the change",
     {},
     0,
     kFlagRange},
    {GRADSTEP_OPTION_SETTING,
     "adaptive_clip",
     "shortens each unit of a gradient to this times the length of its unit of p; 0 = off",
     {},
     0,
     rules::at_least(0)},
    {GRADSTEP_OPTION_SETTING,
     "adaptive_clip_epsilon",
     "the least length of a unit of p for adaptive_clip",
     {},
     1e-3,
     rules::at_least(0)},
    {GRADSTEP_OPTION_CHOICE, "adaptive_clip_units",
     "elements that one unit has. rows: all but the first axis; columns: the first of two or three axes, all but the "
     "last of more (optax); second: the second of two or three axes, all but the first of more (pytorch_optimizer). A "
     "tensor of one axis is one unit",
     kAdaptiveClipUnits, 0, range_of_choices(std::size(kAdaptiveClipUnits))},
    {GRADSTEP_OPTION_FLAG,
     "center_gradients",
     "subtracts from each row of a gradient its mean, where there are two axes or more",
     {},
     0,
     kFlagRange},
    {GRADSTEP_OPTION_FLAG,
     "average_warmup",
     "average_decay is at most (1 + n) / (10 + n) while n steps are in the average",
     {},
     0,
     kFlagRange},
    {GRADSTEP_OPTION_FLAG,
     "average_equal",
     "keeps the mean of the weights after all averaged steps (SWA), in place of average_decay",
     {},
     0,
     kFlagRange},
    {GRADSTEP_OPTION_SETTING,
     "average_start",
     "the first step that is averaged, from 0; until then the average is the weights",
     {},
     0,
     rules::whole(0, kLastStep)},
    {GRADSTEP_OPTION_SETTING,
     "average_every",
     "every such step is averaged, from average_start on",
     {},
     1,
     rules::whole(1, kLastStep)},
};

}  // namespace gradstep
