// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// From hyper-parameters to the constants that a rule computes with in a step, on every device in the same way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>

#include "kernels/macros.h"
#include "rules/clock.h"
#include "rules/list.h"

namespace gradstep::rules {

/// A rule with what its constants depend on beside hyper-parameters and time.
struct RuleForm {
  std::int32_t rule = 0;  ///< place in the list; -1 = a program
  std::int32_t choices[kMaxChoices] = {};
  std::int32_t decays_later = 0;  ///< what is subtracted is not subtracted by the kernel
  std::int32_t unused = 0;
  DecayMode decay_mode = DecayMode::of_rule;
  double settings[kMaxSettings] = {};
  double peak_learning_rate = 0;  ///< of modes that divide by it
};

/// The kind of kernel that a decay of this mode needs.
constexpr Decay decay_of(DecayMode mode, Decay of_rule) {
  if (mode == DecayMode::of_rule) return of_rule;
  return mode == DecayMode::coupled ? Decay::coupled : Decay::decoupled;
}

/// What a kernel multiplies p by.
GRADSTEP_FORMULA double decay_factor(const RuleForm& form, Decay of_rule, double decay, double learning_rate) {
  switch (form.decay_mode) {
    case DecayMode::of_rule:
      if (of_rule == Decay::none) return 0;
      return of_rule == Decay::decoupled ? learning_rate * decay : decay;
    case DecayMode::coupled:
    case DecayMode::independent:
      return decay;
    case DecayMode::decoupled:
      return learning_rate * decay;
    case DecayMode::relative:
      return learning_rate / form.peak_learning_rate * decay;
    case DecayMode::corrected:
      break;
  }
  return learning_rate * decay * learning_rate / form.peak_learning_rate;
}

template <class Rule, class... Rules>
constexpr int place_of(RuleList<Rules...> /*list*/) {
  constexpr bool kIsIt[] = {std::is_same_v<Rule, Rules>...};
  int place = 0;
  while (!kIsIt[place]) ++place;
  return place;
}

/// How many numbers a rule's constants are.
template <class Rule>
inline constexpr int kConstants = static_cast<int>(sizeof(typename Rule::template Constants<double>) / sizeof(double));

template <class Rule>
GRADSTEP_FORMULA void store(const typename Rule::template Constants<double>& constants, RuleConstants& to) {
  static_assert(sizeof constants <= sizeof to.numbers, "constants do not fit into RuleConstants");
  static_assert(std::is_trivially_copyable_v<typename Rule::template Constants<double>>,
                "constants are copied as numbers");
  __builtin_memcpy(to.numbers, &constants, sizeof constants);
}

/// All but the rule's own numbers.
GRADSTEP_FORMULA void write_decay(const RuleForm& form, Decay of_rule, double decay, double learning_rate,
                                  RuleConstants& to) {
  to.learning_rate = learning_rate;
  to.decay = decay_factor(form, of_rule, decay, learning_rate);
  const bool is_coupled = decay_of(form.decay_mode, of_rule) == Decay::coupled;
  to.coupled = is_coupled ? to.decay : 0;
  to.decoupled = is_coupled || form.decays_later != 0 ? 0 : to.decay;
}

/// A program has its decay by the places of its hyper-parameters; without a learning rate 1 counts as one.
GRADSTEP_FORMULA void write_decay(const RuleForm& form, const double* values, std::int32_t weight_decay_place,
                                  std::int32_t learning_rate_place, RuleConstants& to) {
  write_decay(form, Decay::decoupled, weight_decay_place < 0 ? 0 : values[weight_decay_place],
              learning_rate_place < 0 ? 1 : values[learning_rate_place], to);
}

template <class Rule>
GRADSTEP_FORMULA void write(const RuleForm& form, const double* values, const Clock& clock, RuleConstants& to) {
  const Decay of_rule = Rule::decay(form.choices);
  if (of_rule == Decay::none && form.decay_mode != DecayMode::of_rule) {
    double without_decay[kMaxFields];
    for (std::size_t i = 0; i < std::size(Rule::kFields); ++i) {
      without_decay[i] = i == Rule::weight_decay ? 0 : values[i];
    }
    store<Rule>(Rule::constants(form.choices, without_decay, clock), to);
  } else {
    store<Rule>(Rule::constants(form.choices, values, clock), to);
  }
  write_decay(form, of_rule, values[Rule::weight_decay], values[Rule::learning_rate], to);
}

/// In the arithmetic of T.
template <class Rule, class T>
GRADSTEP_FORMULA typename Rule::template Constants<T> read(const RuleConstants& from) {
  typename Rule::template Constants<T> to;
  static_assert(sizeof to == kConstants<Rule> * sizeof(T), "constants are numbers of one type");
  T numbers[kConstants<Rule>];
  for (int i = 0; i < kConstants<Rule>; ++i) numbers[i] = static_cast<T>(from.numbers[i]);
  __builtin_memcpy(&to, numbers, sizeof to);
  return to;
}

template <class... Rules>
GRADSTEP_FORMULA void write_constants(RuleList<Rules...> /*list*/, const RuleForm& form, const double* values,
                                      const Clock& clock, RuleConstants& to) {
  std::int32_t place = 0;
  static_cast<void>(((place++ == form.rule && (write<Rules>(form, values, clock, to), true)) || ...));
}

/// `is_first`: no gradient has gone into the state. `powers` and `kept` stay from step to step; constants of one group
/// may share powers. `numbers` are the parameter's, of rules that keep some.
GRADSTEP_FORMULA void write_constants(const RuleForm& form, const double* values, std::int64_t t, bool is_first,
                                      const double* numbers, Powers& powers, kernels::Fold& kept, RuleConstants& to) {
  write_constants(AllRules{}, form, values, Clock{t, is_first, powers, kept, form.settings, numbers}, to);
}

/// Rules whose constants follow from sums over tensors, or from numbers that they keep, say so by advance().
template <class Rule>
constexpr bool settles() {
  return requires { &Rule::advance; };
}

/// How many sums a rule measures before a step.
template <class Rule>
constexpr int sums_of() {
  if constexpr (requires { Rule::kSums; }) return Rule::kSums;
  return 0;
}

template <class Rule>
GRADSTEP_FORMULA void advance(const RuleForm& form, const double* sums, double* numbers, RuleConstants& constants) {
  if constexpr (settles<Rule>()) {
    auto own = read<Rule, double>(constants);
    Rule::advance(form.choices, form.settings, sums, numbers, own);
    store<Rule>(own, constants);
  }
}

template <class... Rules>
GRADSTEP_FORMULA void advance(RuleList<Rules...> /*list*/, const RuleForm& form, const double* sums, double* numbers,
                              RuleConstants& constants) {
  std::int32_t place = 0;
  static_cast<void>(((place++ == form.rule && (advance<Rules>(form, sums, numbers, constants), true)) || ...));
}

/// What a parameter's constants and its numbers become by the sums of the step.
GRADSTEP_FORMULA void advance(const RuleForm& form, const double* sums, double* numbers, RuleConstants& constants) {
  advance(AllRules{}, form, sums, numbers, constants);
}

GRADSTEP_FORMULA FactoringStep factoring_step(const RuleConstants& constants) {
  const auto own = read<Adafactor, double>(constants);
  return {own.keep, own.rate, own.momentum};
}

/// The share of a projected momentum that leaves it.
GRADSTEP_FORMULA double dropped_share(const RuleConstants& constants) { return read<Dion, double>(constants).drop; }

/// How the variance of orthogonalized matrices goes on.
GRADSTEP_FORMULA VarianceStep variance_step(const RuleConstants& constants) {
  const auto own = read<Muon, double>(constants);
  return {own.variance_beta, own.variance_correct};
}

/// |value| / |change|, the change without its learning rate, from sums of squares; 1 where one of them is 0.
GRADSTEP_FORMULA double trust_ratio(double value_squares, double change_squares, double learning_rate) {
  if (!(value_squares > 0 && change_squares > 0)) return 1;
  return kernels::square_root(value_squares) * learning_rate / kernels::square_root(change_squares);
}

/// What the elements that stay are multiplied by: CautiousUpdate's `mean`, or `sum`.
GRADSTEP_FORMULA double cautious_factor(bool by_mean, double staying, double size) {
  if (!by_mean) return size / (staying + 1);
  const double mean = staying / size;
  return 1 / (mean > 1e-3 ? mean : 1e-3);
}

}  // namespace gradstep::rules
