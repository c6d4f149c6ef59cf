// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "handles.h"

#include <algorithm>
#include <string>
#include <vector>

#include "options.h"

namespace gradstep_bits {

namespace {

using nlohmann::json;

/// Keys of an optimizer that are no fields of its options.
const std::vector<std::string> kOtherKeys = {"rule", "groups", "first_parameters"};

gradstep_optimizer* create_shampoo(gradstep_context* context, const json& spec,
                                   const std::vector<gradstep_parameter>& parameters) {
  const auto options = options_of<gradstep_shampoo_options>(spec, "optimizer", kOtherKeys);
  gradstep_optimizer* optimizer = nullptr;
  check(gradstep_optimizer_create_shampoo(context, &options, parameters.data(), parameters.size(), &optimizer));
  return optimizer;
}

/// Words are names of choices; a schedule counts by its value at step 0.
gradstep_option option_of(const std::string& name, const json& value) {
  if (value.is_string()) return {name.c_str(), 0, value.get_ref<const std::string&>().c_str()};
  return {name.c_str(), value.is_object() ? ScheduleOf(value).at_step_0() : value.get<double>(), nullptr};
}

gradstep_optimizer* create(gradstep_context* context, const json& spec,
                           const std::vector<gradstep_parameter>& parameters) {
  const auto rule = spec.at("rule").get<std::string>();
  if (rule == "shampoo") return create_shampoo(context, spec, parameters);
  std::vector<gradstep_option> options;
  for (const auto& [name, value] : spec.items()) {
    if (std::ranges::find(kOtherKeys, name) == kOtherKeys.end()) options.push_back(option_of(name, value));
  }
  gradstep_optimizer* optimizer = nullptr;
  check(gradstep_optimizer_create(context, rule.c_str(), options.data(), options.size(), parameters.data(),
                                  parameters.size(), &optimizer));
  return optimizer;
}

}  // namespace

std::vector<CommHandle> make_comms(gradstep_context* context, int ranks) {
  gradstep_comm_options options;
  check(gradstep_comm_options_init(&options, sizeof options));
  options.timeout_ms = 120000;  // a sanitizer on a busy machine is slow
  std::vector<gradstep_comm*> created(static_cast<std::size_t>(ranks));
  check(gradstep_comm_create_local_ex(context, ranks, &options, created.data()));
  std::vector<CommHandle> comms;
  for (gradstep_comm* comm : created) comms.emplace_back(comm);
  return comms;
}

OptimizerHandle make_optimizer(gradstep_context* context, const json& spec,
                               const std::vector<gradstep_parameter>& parameters) {
  OptimizerHandle optimizer(create(context, spec, parameters));
  for (const auto& [name, value] : spec.items()) {
    if (value.is_object() && name != "groups") set_hyper_parameters(optimizer.get(), -1, {{name, value}});
  }
  const json groups = spec.value("groups", json::object());
  for (const auto& [group, values] : groups.items()) {
    set_hyper_parameters(optimizer.get(), std::stoi(group), values);
  }
  return optimizer;
}

AccumulatorHandle make_accumulator(gradstep_context* context, const json& spec,
                                   const std::vector<gradstep_parameter>& parameters) {
  auto options = options_of<gradstep_accumulator_options>(spec, "accumulator", {"schedule", "dtype"});
  if (spec.contains("dtype")) {
    const bool wide = number_of(spec.at("dtype").get<std::string>(), {"f32", "f64"}, "accumulator.dtype") == 1;
    options.dtype = {GRADSTEP_TYPE_FLOAT, static_cast<std::uint8_t>(wide ? 64 : 32), 1};
  }
  std::unique_ptr<ScheduleOf> schedule;
  if (spec.contains("schedule")) {
    schedule = std::make_unique<ScheduleOf>(spec.at("schedule"));
    options.schedule = schedule->get();
  }
  gradstep_accumulator* accumulator = nullptr;
  check(gradstep_accumulator_create(context, &options, parameters.data(), parameters.size(), &accumulator));
  return AccumulatorHandle(accumulator);
}

ReducerHandle make_reducer(gradstep_context* context, gradstep_comm* comm, const json& spec,
                           const std::vector<gradstep_parameter>& parameters) {
  const auto options = options_of<gradstep_reducer_options>(spec, "reducer");
  gradstep_reducer* reducer = nullptr;
  check(gradstep_reducer_create(context, comm, &options, parameters.data(), parameters.size(), &reducer));
  return ReducerHandle(reducer);
}

UpdaterHandle make_updater(gradstep_context* context, gradstep_optimizer* optimizer, gradstep_accumulator* accumulator,
                           gradstep_reducer* reducer, const json& spec) {
  const auto options = options_of<gradstep_updater_options>(spec, "updater");
  gradstep_updater* updater = nullptr;
  check(gradstep_updater_create(context, optimizer, accumulator, reducer, &options, &updater));
  return UpdaterHandle(updater);
}

void attach(gradstep_optimizer* optimizer, gradstep_comm* comm, const json& spec) {
  const auto options = options_of<gradstep_sharding_options>(spec, "sharding");
  check(gradstep_optimizer_attach_comm(optimizer, comm, &options));
}

void set_hyper_parameters(gradstep_optimizer* optimizer, std::int32_t group, const json& values) {
  for (const auto& [name, value] : values.items()) {
    if (value.is_object()) {
      ScheduleOf schedule(value);
      check(gradstep_optimizer_set_schedule(optimizer, group, name.c_str(), schedule.get()));
    } else {
      check(gradstep_optimizer_set_value(optimizer, group, name.c_str(), value.get<double>()));
    }
  }
}

}  // namespace gradstep_bits
