// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/hyper_parameters.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/error.h"
#include "core/hash.h"
#include "core/text.h"

namespace gradstep {

HyperParameters::HyperParameters(std::span<const rules::Field> fields, std::span<const double> values,
                                 std::int32_t groups)
    : fields_(fields) {
  std::vector<Schedule> group;
  group.reserve(fields.size());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (std::isnan(values[i]) && std::isnan(fields[i].initial)) fail_argument("options.{}: is not set", fields[i].name);
    if (!fields[i].range.holds(values[i])) {
      fail_out_of_range(fields[i].range, values[i], GRADSTEP_ERR_INVALID_ARGUMENT,
                        fmt::format("options.{}", fields[i].name));
    }
    group.emplace_back(values[i]);
  }
  schedules_.assign(static_cast<std::size_t>(groups), group);
  values_.resize(schedules_.size() * fields_.size());
}

void HyperParameters::grow(std::int32_t groups) {
  if (groups <= group_count()) return;
  schedules_.resize(static_cast<std::size_t>(groups), schedules_.front());
  values_.resize(schedules_.size() * fields_.size());
  settled_ = false;
  digest_.reset();
}

std::size_t HyperParameters::field(const char* name) const {
  if (name == nullptr) fail_argument("name: is NULL");
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    if (std::strcmp(fields_[i].name, name) == 0) return i;
  }
  fail_argument("name: '{}' is not a hyper-parameter of this optimizer, expected one of {}", name,
                join(fields_, ", ", [](const rules::Field& f) { return f.name; }));
}

void HyperParameters::check_group(std::int32_t group) const {
  if (group < -1 || group >= group_count()) {
    fail_argument("group: is {}, expected -1 (all) to {}", group, group_count() - 1);
  }
}

void HyperParameters::set(std::int32_t group, std::size_t field, const Schedule& schedule) {
  const rules::Range& range = fields_[field].range;
  if (schedule.is_constant() && !range.holds(schedule.value(0))) {
    fail_out_of_range(range, schedule.value(0), GRADSTEP_ERR_INVALID_ARGUMENT, fields_[field].name);
  }
  for (std::int32_t g = 0; g < group_count(); ++g) {
    if (group == -1 || group == g) schedules_[static_cast<std::size_t>(g)][field] = schedule;
  }
  settled_ = false;
  digest_.reset();
}

double HyperParameters::evaluate(std::int32_t group, std::size_t field, std::int64_t step, Queue* queue) const {
  const Schedule& asked = schedule(group, field);
  const bool is_elsewhere = queue != nullptr && asked.number() != nullptr;
  const double value = is_elsewhere ? read(*queue, asked.number()) : asked.value(step);
  if (!fields_[field].range.holds(value)) {
    fail_out_of_range(fields_[field].range, value, GRADSTEP_ERR_NUMERIC,
                      fmt::format("{} of group {} at step {}", fields_[field].name, group, step));
  }
  return value;
}

void HyperParameters::evaluate_all(std::int64_t step, Queue* queue) {
  fresh_.resize(values_.size());
  bool constant = true;
  for (std::size_t g = 0; g < schedules_.size(); ++g) {
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      fresh_[g * fields_.size() + i] = evaluate(static_cast<std::int32_t>(g), i, step, queue);
      constant = constant && schedules_[g][i].is_constant();
    }
  }
  values_.swap(fresh_);
  settled_ = constant;
}

bool HyperParameters::needs_host() const {
  for (const std::vector<Schedule>& group : schedules_) {
    if (std::ranges::any_of(group, [](const Schedule& schedule) { return schedule.has_callback(); })) return true;
  }
  return false;
}

std::vector<kernels::HyperParameterForm> HyperParameters::forms() const {
  std::vector<kernels::HyperParameterForm> forms;
  for (const std::vector<Schedule>& group : schedules_) {
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      forms.push_back({group[i].form(), fields_[i].range.minimum, fields_[i].range.limit});
    }
  }
  return forms;
}

std::vector<std::uint64_t> HyperParameters::facts() const {
  std::vector<std::uint64_t> facts;
  for (std::size_t i = 0; i < fields_.size(); ++i) facts.push_back(digest_of(i, hash_bytes(nullptr, 0)));
  return facts;
}

std::uint64_t HyperParameters::digest() {
  if (!digest_ || needs_host()) {
    digest_ = hash_bytes(nullptr, 0);
    for (std::size_t i = 0; i < fields_.size(); ++i) digest_ = digest_of(i, *digest_);
  }
  return *digest_;
}

std::uint64_t HyperParameters::digest_of(std::size_t field, std::uint64_t state) const {
  for (std::size_t g = 0; g < schedules_.size(); ++g) {
    const Schedule& schedule = schedules_[g][field];
    state = schedule.digest(state);
    if (schedule.has_callback()) state = hash_bytes(&values_[g * fields_.size() + field], sizeof(double), state);
  }
  return state;
}

void fail_out_of_range(const rules::Range& range, double value, gradstep_status status, const std::string& where) {
  const auto [minimum, limit] = range;
  if (std::isfinite(limit)) fail(status, "{}: is {}, expected in [{}, {})", where, value, minimum, limit);
  if (minimum == 0) fail(status, "{}: is {}, expected a finite number of at least 0", where, value);
  fail(status, "{}: is {}, expected a finite number", where, value);
}

}  // namespace gradstep
