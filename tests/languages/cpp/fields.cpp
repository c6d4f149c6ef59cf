// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "fields.hpp"

namespace languages {

using gradstep::Schedule;

const Setters<gradstep::SgdOptions>& setters(const gradstep::SgdOptions&) {
  using O = gradstep::SgdOptions;
  static const Setters<O> fields = {{"learning_rate", field(&O::learning_rate)},
                                    {"momentum", field(&O::momentum)},
                                    {"dampening", field(&O::dampening)},
                                    {"weight_decay", field(&O::weight_decay)},
                                    {"nesterov", field(&O::nesterov)},
                                    {"maximize", field(&O::maximize)},
                                    {"first_step", field(&O::first_step)},
                                    {"master_weights", field(&O::master_weights)},
                                    {"state_dtype", field(&O::state_dtype)},
                                    {"stochastic_rounding", field(&O::stochastic_rounding)},
                                    {"seed", field(&O::seed)}};
  return fields;
}

const Setters<gradstep::RmspropOptions>& setters(const gradstep::RmspropOptions&) {
  using O = gradstep::RmspropOptions;
  static const Setters<O> fields = {{"learning_rate", field(&O::learning_rate)},
                                    {"rho", field(&O::rho)},
                                    {"epsilon", field(&O::epsilon)},
                                    {"weight_decay", field(&O::weight_decay)},
                                    {"momentum", field(&O::momentum)},
                                    {"centered", field(&O::centered)},
                                    {"epsilon_placement", field(&O::epsilon_placement)},
                                    {"state_dtype", field(&O::state_dtype)}};
  return fields;
}

const Setters<gradstep::AdagradOptions>& setters(const gradstep::AdagradOptions&) {
  using O = gradstep::AdagradOptions;
  static const Setters<O> fields = {{"learning_rate", field(&O::learning_rate)},
                                    {"epsilon", field(&O::epsilon)},
                                    {"weight_decay", field(&O::weight_decay)},
                                    {"lr_decay", field(&O::lr_decay)},
                                    {"initial_accumulator", field(&O::initial_accumulator)},
                                    {"epsilon_placement", field(&O::epsilon_placement)},
                                    {"state_dtype", field(&O::state_dtype)}};
  return fields;
}

const Setters<gradstep::AdamOptions>& setters(const gradstep::AdamOptions&) {
  using O = gradstep::AdamOptions;
  static const Setters<O> fields = {{"learning_rate", field(&O::learning_rate)},
                                    {"beta1", field(&O::beta1)},
                                    {"beta2", field(&O::beta2)},
                                    {"epsilon", field(&O::epsilon)},
                                    {"weight_decay", field(&O::weight_decay)},
                                    {"decoupled_weight_decay", field(&O::decoupled_weight_decay)},
                                    {"amsgrad", field(&O::amsgrad)},
                                    {"maximize", field(&O::maximize)},
                                    {"bias_correction", field(&O::bias_correction)},
                                    {"master_weights", field(&O::master_weights)},
                                    {"state_dtype", field(&O::state_dtype)},
                                    {"stochastic_rounding", field(&O::stochastic_rounding)},
                                    {"seed", field(&O::seed)}};
  return fields;
}

const Setters<gradstep::ShampooOptions>& setters(const gradstep::ShampooOptions&) {
  using O = gradstep::ShampooOptions;
  static const Setters<O> fields = {{"learning_rate", field(&O::learning_rate)},
                                    {"beta1", field(&O::beta1)},
                                    {"beta2", field(&O::beta2)},
                                    {"weight_decay", field(&O::weight_decay)},
                                    {"block_size", field(&O::block_size)},
                                    {"start_preconditioning_step", field(&O::start_preconditioning_step)},
                                    {"preconditioning_compute_steps", field(&O::preconditioning_compute_steps)},
                                    {"graft_type", field(&O::graft_type)},
                                    {"root_method", field(&O::root_method)},
                                    {"nesterov", field(&O::nesterov)},
                                    {"decoupled_weight_decay", field(&O::decoupled_weight_decay)},
                                    {"eigenvalue_corrected", field(&O::eigenvalue_corrected)}};
  return fields;
}

const Setters<gradstep::AccumulatorOptions>& setters(const gradstep::AccumulatorOptions&) {
  using O = gradstep::AccumulatorOptions;
  static const Setters<O> fields = {
      {"mode", field(&O::mode)},   {"trigger", field(&O::trigger)},       {"nonfinite", field(&O::nonfinite)},
      {"steps", field(&O::steps)}, {"min_weight", field(&O::min_weight)}, {"keep_sums", field(&O::keep_sums)}};
  return fields;
}

const Setters<gradstep::ReducerOptions>& setters(const gradstep::ReducerOptions&) {
  using O = gradstep::ReducerOptions;
  static const Setters<O> fields = {{"mode", field(&O::mode)},
                                    {"average", field(&O::average)},
                                    {"fuse_threshold", field(&O::fuse_threshold)},
                                    {"clip_value", field(&O::clip_value)},
                                    {"half_sum", field(&O::half_sum)},
                                    {"sparsity", field(&O::sparsity)},
                                    {"selection", field(&O::selection)},
                                    {"residual", field(&O::residual)},
                                    {"rank", field(&O::rank)}};
  return fields;
}

const Setters<gradstep::UpdaterOptions>& setters(const gradstep::UpdaterOptions&) {
  using O = gradstep::UpdaterOptions;
  static const Setters<O> fields = {{"sync", field(&O::sync)},
                                    {"sync_steps", field(&O::sync_steps)},
                                    {"skip_nonfinite", field(&O::skip_nonfinite)},
                                    {"max_norm", field(&O::max_norm)},
                                    {"clip_value", field(&O::clip_value)},
                                    {"grad_scale", field(&O::grad_scale)}};
  return fields;
}

const Setters<gradstep::StepOptions>& setters(const gradstep::StepOptions&) {
  using O = gradstep::StepOptions;
  static const Setters<O> fields = {{"skip_nonfinite", field(&O::skip_nonfinite)},
                                    {"grad_scale", field(&O::grad_scale)},
                                    {"max_norm", field(&O::max_norm)},
                                    {"clip_value", field(&O::clip_value)}};
  return fields;
}

Schedule schedule_of(const script_line* line, const std::string& prefix) {
  const auto number = [&](const char* key, double otherwise) {
    return number_of(line, (prefix + key).c_str(), otherwise);
  };
  const auto integer = [&](const char* key) { return integer_of(line, (prefix + key).c_str(), 0); };
  double values[kMaxList];
  std::int64_t boundaries[kMaxList];
  const int n_values = numbers_of(line, (prefix + "values").c_str(), values);
  const int n_boundaries = integers_of(line, (prefix + "boundaries").c_str(), boundaries);
  const std::vector<double> own(values, values + (n_values > 0 ? n_values : 0));
  const double init_value = number("init_value", 0);
  const double end_value = number("end_value", 0);
  const std::int64_t decay_steps = integer("decay_steps");
  const Schedule::Decay decay = {.init_value = init_value,
                                 .decay_steps = decay_steps,
                                 .decay_rate = number("decay_rate", 0),
                                 .staircase = integer("staircase") != 0};
  const char* kind = value_of(line, (prefix + "kind").c_str());
  const auto made = [&]() -> Schedule {
    switch (place_in("constant,exponential_decay,inverse_time,polynomial,cosine,piecewise,callback", kind)) {
      case 0:
        return Schedule::constant(init_value);
      case 1:
        return Schedule::exponential_decay(decay);
      case 2:
        return Schedule::inverse_time(decay);
      case 3:
        return Schedule::polynomial({.init_value = init_value,
                                     .end_value = end_value,
                                     .decay_steps = decay_steps,
                                     .power = number("power", 1)});
      case 4:
        return Schedule::cosine({.init_value = init_value, .end_value = end_value, .decay_steps = decay_steps});
      case 5:
        return Schedule::piecewise({boundaries, boundaries + (n_boundaries > 0 ? n_boundaries : 0)}, own);
      case 6:
        return Schedule([own](std::int64_t step) { return own.at(static_cast<std::size_t>(step)); });
      default:
        die(line, "kind: '%s' is no schedule", kind);
    }
  };
  return made().after_warmup(integer("warmup_steps"));
}

}  // namespace languages
