// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The options structs of the C API that have a rule of src/rules.
#pragma once

#include <iterator>

#include "gradstep/optimizer.h"
#include "optim/first_order/rule.h"

namespace gradstep {

/// Where a struct holds what the rule's description lists, in the order of the description.
template <class Options>
struct TypedOptions;

template <>
struct TypedOptions<gradstep_sgd_options> {
  using O = gradstep_sgd_options;
  using Rule = rules::Sgd;
  static constexpr double O::* kFields[] = {&O::learning_rate, &O::momentum, &O::dampening, &O::weight_decay};
  static constexpr std::array<double O::*, 0> kSettings = {};
  static constexpr std::int32_t O::* kChoices[] = {&O::nesterov, &O::first_step};
};

template <>
struct TypedOptions<gradstep_rmsprop_options> {
  using O = gradstep_rmsprop_options;
  using Rule = rules::RmsProp;
  static constexpr double O::* kFields[] = {&O::learning_rate, &O::rho, &O::epsilon, &O::weight_decay, &O::momentum};
  static constexpr std::array<double O::*, 0> kSettings = {};
  static constexpr std::int32_t O::* kChoices[] = {&O::epsilon_placement, &O::centered};
};

template <>
struct TypedOptions<gradstep_adagrad_options> {
  using O = gradstep_adagrad_options;
  using Rule = rules::AdaGrad;
  static constexpr double O::* kFields[] = {&O::learning_rate, &O::epsilon, &O::weight_decay, &O::lr_decay};
  static constexpr double O::* kSettings[] = {&O::initial_accumulator};
  static constexpr std::int32_t O::* kChoices[] = {&O::epsilon_placement};
};

template <>
struct TypedOptions<gradstep_adam_options> {
  using O = gradstep_adam_options;
  using Rule = rules::Adam;
  static constexpr double O::* kFields[] = {&O::learning_rate, &O::beta1, &O::beta2, &O::epsilon, &O::weight_decay};
  static constexpr std::array<double O::*, 0> kSettings = {};
  static constexpr std::int32_t O::* kChoices[] = {&O::bias_correction, &O::decoupled_weight_decay, &O::amsgrad};
};

/// Throws INVALID_ARGUMENT for options out of range. HyperParameters checks the hyper-parameters.
template <class Options>
Rule make_rule(const Options& o) {
  using Typed = TypedOptions<Options>;
  constexpr const rules::Description& kAbout = Typed::Rule::kAbout;
  static_assert(std::size(Typed::kFields) == kAbout.fields.size());
  static_assert(std::size(Typed::kSettings) == kAbout.settings.size());
  static_assert(std::size(Typed::kChoices) == kAbout.choices.size());
  RuleOptions options;
  for (std::size_t i = 0; i < std::size(Typed::kFields); ++i) options.fields[i] = o.*Typed::kFields[i];
  for (std::size_t i = 0; i < std::size(Typed::kSettings); ++i) options.settings[i] = o.*Typed::kSettings[i];
  for (std::size_t i = 0; i < std::size(Typed::kChoices); ++i) options.choices[i] = o.*Typed::kChoices[i];
  options.maximize = o.maximize != 0;
  options.storage = storage_of(o);
  return {rule_type<typename Typed::Rule>(), options};
}

template <class Options>
Options default_options() {
  using Typed = TypedOptions<Options>;
  Options o{};
  for (std::size_t i = 0; i < std::size(Typed::kFields); ++i) o.*Typed::kFields[i] = Typed::Rule::kFields[i].initial;
  for (std::size_t i = 0; i < std::size(Typed::kSettings); ++i) {
    o.*Typed::kSettings[i] = Typed::Rule::kAbout.settings[i].initial;
  }
  return o;
}

}  // namespace gradstep
