// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <variant>

namespace gradstep_bits {

namespace {

using nlohmann::json;
using Words = std::vector<const char*>;

template <class Options>
struct Field {
  using Member = std::variant<double Options::*, std::int32_t Options::*, std::int64_t Options::*>;
  Field(const char* its_name, Member its_member, Words its_words = Words())
      : name(its_name), member(its_member), words(std::move(its_words)) {}

  const char* name;
  Member member;
  Words words;  ///< of an enum, in the order of its numbers
};

template <class Options>
struct Fields;

#include "field_tables.h"

void set(double& field, const json& value, const Words& /*words*/, const std::string& where) {
  if (value.is_object()) {
    field = ScheduleOf(value).at_step_0();
  } else if (value.is_number()) {
    field = value.get<double>();
  } else {
    throw std::runtime_error(where + ": is " + value.dump() + ", expected a number or a schedule");
  }
}

template <class Integer>
void set(Integer& field, const json& value, const Words& words, const std::string& where) {
  if (value.is_string() && !words.empty()) {
    field = number_of(value.get<std::string>(), words, where);
  } else if (value.is_number_integer() && words.empty()) {
    field = value.get<Integer>();
  } else {
    throw std::runtime_error(where + ": is " + value.dump() + ", expected " +
                             (words.empty() ? "an integer" : "the word of an enum"));
  }
}

struct CallbackValues {
  std::vector<double> values;
};

gradstep_status callback_value(void* user, std::int64_t step, double* value) {
  const auto& values = static_cast<CallbackValues*>(user)->values;
  *value = values[std::min(static_cast<std::size_t>(step), values.size() - 1)];
  return GRADSTEP_OK;
}

void release_callback(void* user) { delete static_cast<CallbackValues*>(user); }

}  // namespace

template <class Options>
Options options_of(const json& spec, const char* object, const std::vector<std::string>& others) {
  Options options;
  check(Fields<Options>::init(&options, sizeof options));
  for (const auto& [key, value] : spec.items()) {
    if (std::find(others.begin(), others.end(), key) != others.end()) continue;
    const auto& fields = Fields<Options>::all;
    const auto field = std::find_if(fields.begin(), fields.end(), [&](const auto& f) { return key == f.name; });
    if (field == fields.end()) throw std::runtime_error(std::string(object) + " has no field '" + key + "'");
    const std::string where = std::string(object) + "." + key;
    std::visit([&](auto member) { set(options.*member, value, field->words, where); }, field->member);
  }
  return options;
}

void check_keys(const json& object, const char* where, const std::vector<std::string>& known) {
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      throw std::runtime_error(std::string(where) + " has no field '" + key + "'");
    }
  }
}

std::int32_t number_of(const std::string& word, const Words& words, const std::string& where) {
  const auto found = std::find(words.begin(), words.end(), word);
  if (found != words.end()) return static_cast<std::int32_t>(found - words.begin());
  std::string expected;
  for (const char* known : words) expected.append(expected.empty() ? "" : ", ").append(known);
  throw std::runtime_error(where + ": is '" + word + "', expected one of " + expected);
}

ScheduleOf::ScheduleOf(const json& spec) {
  if (spec.is_number()) {
    check(gradstep_schedule_init(&schedule_, sizeof schedule_));
    schedule_.init_value = spec.get<double>();
    return;
  }
  schedule_ = options_of<gradstep_schedule>(spec, "schedule", {"boundaries", "values"});
  boundaries_ = spec.value("boundaries", boundaries_);
  values_ = spec.value("values", values_);
  is_callback_ = schedule_.kind == GRADSTEP_SCHEDULE_CALLBACK;
  if (is_callback_ && values_.empty()) throw std::runtime_error("schedule.values: a callback needs them");
}

const gradstep_schedule* ScheduleOf::get() {
  if (is_callback_) {
    schedule_.function = callback_value;
    schedule_.user = new CallbackValues{values_};  // NOLINT: the library calls release once
    schedule_.release = release_callback;
  } else if (schedule_.kind == GRADSTEP_SCHEDULE_PIECEWISE) {
    schedule_.n_points = static_cast<std::int32_t>(values_.size());
    schedule_.boundaries = boundaries_.data();
    schedule_.values = values_.data();
  }
  return &schedule_;
}

double ScheduleOf::at_step_0() const {
  if (!values_.empty()) return values_.front();
  double value = 0;
  check(gradstep_schedule_value(&schedule_, 0, &value));
  return value;
}

template gradstep_shampoo_options options_of(const json&, const char*, const std::vector<std::string>&);
template gradstep_accumulator_options options_of(const json&, const char*, const std::vector<std::string>&);
template gradstep_reducer_options options_of(const json&, const char*, const std::vector<std::string>&);
template gradstep_updater_options options_of(const json&, const char*, const std::vector<std::string>&);
template gradstep_sharding_options options_of(const json&, const char*, const std::vector<std::string>&);
template gradstep_step_options options_of(const json&, const char*, const std::vector<std::string>&);

}  // namespace gradstep_bits
