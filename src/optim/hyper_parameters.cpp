// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/hyper_parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/error.h"
#include "core/hash.h"
#include "core/text.h"

namespace gradstep {

HyperParameters::HyperParameters(std::span<const GroupFields> by_group, std::int32_t groups) : rules_(by_group.size()) {
  for (const GroupFields& given : by_group) {
    Group group{given.fields, {}};
    for (std::size_t i = 0; i < given.fields.size(); ++i) {
      const rules::Field& field = given.fields[i];
      const double value = given.values[i];
      if (std::isnan(value) && std::isnan(field.initial)) fail_argument("options.{}: is not set", field.name);
      if (!field.range.holds(value)) {
        fail_out_of_range(field.range, value, GRADSTEP_ERR_INVALID_ARGUMENT, fmt::format("options.{}", field.name));
      }
      group.schedules.emplace_back(value);
    }
    field_count_ = std::max(field_count_, given.fields.size());
    groups_.push_back(std::move(group));
  }
  const std::size_t fewest = rules_ > 1 ? rules_ : 0;  // a rule may wait for its first parameter
  groups_.resize(std::max(static_cast<std::size_t>(groups), fewest), Group(groups_.back()));
  values_.resize(groups_.size() * field_count_);
}

std::vector<const char*> HyperParameters::names() const {
  std::vector<const char*> names;
  const auto is_known = [&](const char* name) {
    return std::ranges::any_of(names, [&](const char* known) { return std::strcmp(known, name) == 0; });
  };
  for (const Group& group : groups_) {
    for (const rules::Field& field : group.fields) {
      if (!is_known(field.name)) names.push_back(field.name);
    }
  }
  return names;
}

void HyperParameters::grow(std::int32_t groups) {
  if (groups <= group_count()) return;
  groups_.resize(static_cast<std::size_t>(groups), Group(rules_ > 1 ? groups_.back() : groups_.front()));
  values_.resize(groups_.size() * field_count_);
  forget_values();
}

std::size_t HyperParameters::Group::find(const char* name) const {
  std::size_t i = 0;
  while (i < fields.size() && std::strcmp(fields[i].name, name) != 0) ++i;
  return i;
}

std::size_t HyperParameters::field(std::int32_t group, const char* name) const {
  if (name == nullptr) fail_argument("name: is NULL");
  const Group& asked = at(group == -1 ? 0 : group);
  const std::size_t found = asked.find(name);
  if (found < asked.fields.size()) return found;
  fail_argument("name: '{}' is not a hyper-parameter of {}, expected one of {}", name,
                rules_ > 1 ? fmt::format("group {}", group) : "this optimizer",
                join(asked.fields, ", ", [](const rules::Field& f) { return f.name; }));
}

void HyperParameters::check_group(std::int32_t group) const {
  if (group < -1 || group >= group_count()) {
    fail_argument("group: is {}, expected -1 (all) to {}", group, group_count() - 1);
  }
}

void HyperParameters::set(std::int32_t group, const char* name, const Schedule& schedule) {
  if (name == nullptr) fail_argument("name: is NULL");
  bool is_known = false;
  for (std::int32_t g = 0; g < group_count(); ++g) {
    const std::size_t place = at(g).find(name);
    if ((group != -1 && group != g) || place == at(g).fields.size()) continue;
    const rules::Range& range = at(g).fields[place].range;
    if (schedule.is_constant() && !range.holds(schedule.value(0))) {
      fail_out_of_range(range, schedule.value(0), GRADSTEP_ERR_INVALID_ARGUMENT, name);
    }
    groups_[static_cast<std::size_t>(g)].schedules[place] = schedule;
    is_known = true;
  }
  if (!is_known) (void)field(group, name);  // throws
  forget_values();
}

double HyperParameters::evaluate(std::int32_t group, std::size_t field, std::int64_t step, Queue* queue) const {
  const Schedule& asked = schedule(group, field);
  const bool is_elsewhere = queue != nullptr && asked.number() != nullptr;
  const double value = is_elsewhere ? read(*queue, asked.number()) : asked.value(step);
  check_value(group, field, step, value);
  return value;
}

void HyperParameters::check_value(std::int32_t group, std::size_t field, std::int64_t step, double value) const {
  const rules::Field& about = fields(group)[field];
  if (about.range.holds(value)) return;
  fail_out_of_range(about.range, value, GRADSTEP_ERR_NUMERIC,
                    fmt::format("{} of group {} at step {}", about.name, group, step));
}

void HyperParameters::forget_values() {
  is_listed_ = false;
  digest_.reset();
}

void HyperParameters::evaluate_all(std::int64_t step, Queue* queue) {
  fresh_.resize(values_.size());
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    for (std::size_t i = 0; i < groups_[g].fields.size(); ++i) {
      fresh_[g * field_count_ + i] = evaluate(static_cast<std::int32_t>(g), i, step, queue);
    }
  }
  list_varying();
  values_.swap(fresh_);
  fresh_.resize(varying_.size());
}

void HyperParameters::list_varying() {
  varying_.clear();
  std::vector<std::size_t> last(field_count_);  // by field: one more than its last place in the list; 0 = none
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    for (std::size_t i = 0; i < groups_[g].fields.size(); ++i) {
      const Schedule& schedule = groups_[g].schedules[i];
      if (schedule.is_constant()) continue;
      Varying varying{g, i, varying_.size()};
      if (last[i] > 0) {
        const Varying& before = varying_[last[i] - 1];
        const bool is_equal = schedule.digest(0) == groups_[before.group].schedules[i].digest(0);
        if (schedule.is_closed_form() && is_equal) varying.like = before.like;
      }
      varying_.push_back(varying);
      last[i] = varying_.size();
    }
  }
  is_listed_ = true;
}

void HyperParameters::evaluate_varying(std::int64_t step, Queue* queue) {
  for (std::size_t k = 0; k < varying_.size(); ++k) {
    const auto [g, field, like] = varying_[k];
    const auto group = static_cast<std::int32_t>(g);
    if (like == k) {
      fresh_[k] = evaluate(group, field, step, queue);
    } else {
      fresh_[k] = fresh_[like];
      check_value(group, field, step, fresh_[k]);
    }
  }
  for (std::size_t k = 0; k < varying_.size(); ++k) {
    values_[varying_[k].group * field_count_ + varying_[k].field] = fresh_[k];
  }
}

bool HyperParameters::needs_host() const {
  for (const Group& group : groups_) {
    if (std::ranges::any_of(group.schedules, [](const Schedule& schedule) { return schedule.has_callback(); }))
      return true;
  }
  return false;
}

std::vector<kernels::HyperParameterForm> HyperParameters::forms() const {
  std::vector<kernels::HyperParameterForm> forms;
  for (const Group& group : groups_) {
    for (std::size_t i = 0; i < group.fields.size(); ++i) {
      forms.push_back({group.schedules[i].form(), group.fields[i].range.minimum, group.fields[i].range.limit});
    }
    const rules::Range any;
    for (std::size_t i = group.fields.size(); i < field_count_; ++i) {
      forms.push_back({Schedule(0).form(), any.minimum, any.limit});  // it is not read
    }
  }
  return forms;
}

std::vector<std::uint64_t> HyperParameters::facts() const {
  std::vector<std::uint64_t> facts;
  for (const char* name : names()) facts.push_back(digest_of(name, hash_bytes(nullptr, 0)));
  return facts;
}

std::string HyperParameters::fact_text(std::size_t i) const {
  return fmt::format("the hyper-parameter '{}', its schedule or the value that a callback gave", names()[i]);
}

std::uint64_t HyperParameters::digest() const {
  if (!digest_ || needs_host()) {
    digest_ = hash_bytes(nullptr, 0);
    for (const char* name : names()) digest_ = digest_of(name, *digest_);
  }
  return *digest_;
}

std::uint64_t HyperParameters::digest_of(const char* name, std::uint64_t state) const {
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const std::size_t field = groups_[g].find(name);
    if (field == groups_[g].fields.size()) continue;
    const Schedule& schedule = groups_[g].schedules[field];
    state = schedule.digest(state);
    if (schedule.has_callback()) state = hash_bytes(&values_[g * field_count_ + field], sizeof(double), state);
  }
  return state;
}

void fail_out_of_range(const rules::Range& range, double value, gradstep_status status, const std::string& where) {
  const auto [minimum, limit, is_whole] = range;
  if (is_whole) fail(status, "{}: is {}, expected a whole number from {} to {}", where, value, minimum, limit - 1);
  if (std::isfinite(limit)) fail(status, "{}: is {}, expected in [{}, {})", where, value, minimum, limit);
  if (minimum == 0) fail(status, "{}: is {}, expected a finite number of at least 0", where, value);
  fail(status, "{}: is {}, expected a finite number", where, value);
}

}  // namespace gradstep
