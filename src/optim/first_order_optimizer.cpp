// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/first_order_optimizer.h"

#include <cstring>

#include "core/error.h"
#include "core/text.h"

namespace gradstep {

namespace {

std::span<const Schedule> schedules_of(const HyperParameters& hyper_parameters, std::int32_t group) {
  return {&hyper_parameters.schedule(group, 0), hyper_parameters.field_count()};
}

void zero(const Buffer& buffer) {
  if (buffer.bytes() > 0) std::memset(buffer.data(), 0, buffer.bytes());
}

std::int64_t bytes_per_state(const Parameter& parameter) {
  return parameter.size * size_of(arithmetic_dtype(parameter.dtype));
}

}  // namespace

FirstOrderOptimizer::FirstOrderOptimizer(std::shared_ptr<Context> context, std::unique_ptr<UpdateRule> rule,
                                         Schema parameters)
    : Optimizer(std::move(context), std::move(parameters), rule->fields(), rule->defaults()), rule_(std::move(rule)) {
  for (std::int32_t g = 0; g < group_count(); ++g) rule_->check(schedules_of(hyper_parameters(), g));
  prepare(schema(), hyper_parameters());
}

std::int64_t FirstOrderOptimizer::state_bytes(const UpdateRule& rule, const Schema& schema) {
  const HyperParameters hyper_parameters(rule.fields(), rule.defaults(), schema.group_count());
  std::int64_t bytes = 0;
  for (const Parameter& parameter : schema) {
    const std::uint32_t states = rule.states_of(schedules_of(hyper_parameters, parameter.group));
    bytes += __builtin_popcount(states) * bytes_per_state(parameter);
  }
  return bytes;
}

void FirstOrderOptimizer::prepare(const Schema& schema, const HyperParameters& hyper_parameters) {
  // Everything that can throw happens on the side; the swaps below cannot.
  std::vector<std::pair<std::size_t, std::size_t>> places;
  std::vector<Buffer> buffers;
  for (std::size_t i = 0; i < schema.size(); ++i) {
    const std::uint32_t wanted = rule_->states_of(schedules_of(hyper_parameters, schema[i].group));
    for (std::size_t s = 0; s < rule_->state_names().size(); ++s) {
      const bool exists = i < parameters_.size() && parameters_[i].states[s].bytes() > 0;
      if (((wanted >> s) & 1) == 0 || exists || schema[i].size == 0) continue;
      places.emplace_back(i, s);
      buffers.push_back(context()->allocate(static_cast<std::size_t>(bytes_per_state(schema[i])), /*zeroed=*/true));
    }
  }
  std::vector<PerGroup> groups(static_cast<std::size_t>(hyper_parameters.group_count()));
  for (std::size_t g = 0; g < groups.size(); ++g) {
    groups[g].kernel = rule_->kernel(schedules_of(hyper_parameters, static_cast<std::int32_t>(g)));
  }
  std::vector<UpdateItem> items(schema.size());
  parameters_.reserve(schema.size());

  parameters_.resize(schema.size());
  for (std::size_t k = 0; k < places.size(); ++k) {
    parameters_[places[k].first].states[places[k].second] = std::move(buffers[k]);
  }
  for (std::size_t i = 0; i < schema.size(); ++i) {
    PerParameter& parameter = parameters_[i];
    const std::uint32_t wanted = rule_->states_of(schedules_of(hyper_parameters, schema[i].group));
    const std::uint32_t back = wanted & ~parameter.active;
    for (std::size_t s = 0; s < rule_->state_names().size(); ++s) {
      if (((back >> s) & 1) != 0) zero(parameter.states[s]);
    }
    if (back != 0) parameter.used = false;
    parameter.active = wanted;
  }
  all_used_ = filled_ = false;
  groups_.swap(groups);
  for (std::size_t i = 0; i < items.size(); ++i) {
    items[i].rule = groups_[static_cast<std::size_t>(schema[i].group)].kernel;
    for (std::size_t s = 0; s < rule_->state_names().size(); ++s) items[i].states[s] = parameters_[i].states[s].data();
  }
  items_.swap(items);
}

void FirstOrderOptimizer::fill_items() {
  const bool in_place = updates().empty();
  for (std::size_t i = 0; i < items_.size(); ++i) {
    UpdateItem& item = items_[i];
    item.param = params()[i];
    item.gradient = grads()[i];
    item.update = in_place ? Array{} : updates()[i];
    const PerGroup& group = groups_[static_cast<std::size_t>(schema()[i].group)];
    item.constants = parameters_[i].used ? &group.constants : &group.first_constants;
  }
  filled_ = all_used_;
}

void FirstOrderOptimizer::apply(double grad_multiplier, double clip_value) {
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const auto values = hyper_parameters().values(static_cast<std::int32_t>(g));
    rule_->write_constants(values, step_count(), /*first=*/false, &groups_[g].constants);
    if (!all_used_) rule_->write_constants(values, step_count(), /*first=*/true, &groups_[g].first_constants);
  }
  if (buffers_changed() || !filled_) fill_items();
  UpdateJob job;
  job.work = &work();
  job.items = items_;
  job.grad_multiplier = rule_->maximize() ? -grad_multiplier : grad_multiplier;
  job.clip_value = clip_value;
  context()->backend().update(job);
  if (all_used_) return;
  all_used_ = true;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (items_[i].gradient.data != nullptr) parameters_[i].used = true;
    all_used_ = all_used_ && parameters_[i].used;
  }
}

Array FirstOrderOptimizer::state(std::size_t index, const char* name) {
  if (index >= schema().size()) fail_argument("index: is {}, the schema has {} parameters", index, schema().size());
  if (name == nullptr) fail_argument("name: is NULL");
  for (std::size_t s = 0; s < rule_->state_names().size(); ++s) {
    if (std::strcmp(name, rule_->state_names()[s]) != 0) continue;
    const Parameter& parameter = schema()[index];
    const Buffer& buffer = parameters_[index].states[s];
    if (((parameters_[index].active >> s) & 1) == 0) {
      fail(GRADSTEP_ERR_INVALID_STATE, "state '{}' of parameter '{}' does not exist: what needs it is switched off",
           name, parameter.name);
    }
    Array array;
    array.data = buffer.data();
    array.size = parameter.size;
    array.dtype = arithmetic_dtype(parameter.dtype);
    return array;
  }
  fail_argument("name: '{}' is not a state of {}, expected one of {}", name, kind(), join(rule_->state_names(), ", "));
}

std::vector<StoredState> FirstOrderOptimizer::stored_states() {
  std::vector<StoredState> stored;
  for (std::size_t i = 0; i < schema().size(); ++i) {
    for (std::size_t s = 0; s < rule_->state_names().size(); ++s) {
      if (((parameters_[i].active >> s) & 1) == 0) continue;
      Array array;
      array.data = parameters_[i].states[s].data();
      array.size = schema()[i].size;
      array.dtype = arithmetic_dtype(schema()[i].dtype);
      stored.push_back({i, rule_->state_names()[s], array, 0, array.size});
    }
  }
  return stored;
}

std::vector<std::uint8_t> FirstOrderOptimizer::state_flags() const {
  std::vector<std::uint8_t> flags;
  flags.reserve(parameters_.size());
  for (const PerParameter& parameter : parameters_) flags.push_back(parameter.used ? 1 : 0);
  return flags;
}

void FirstOrderOptimizer::set_state_flags(std::span<const std::uint8_t> flags) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) parameters_[i].used = flags[i] != 0;
  all_used_ = filled_ = false;
}

void FirstOrderOptimizer::state_written(std::size_t index) {
  parameters_[index].used = true;
  filled_ = false;
}

std::int64_t FirstOrderOptimizer::other_bytes() const {
  return Optimizer::other_bytes() +
         static_cast<std::int64_t>(items_.capacity() * sizeof(UpdateItem) + groups_.capacity() * sizeof(PerGroup) +
                                   parameters_.capacity() * sizeof(PerParameter));
}

}  // namespace gradstep
