// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/first_order/named_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "core/error.h"
#include "core/text.h"
#include "optim/first_order/defined_rules.h"
#include "optim/first_order/second_names.h"
#include "optim/hyper_parameters.h"

namespace gradstep {

namespace {

/// What storage_of() reads.
struct SharedOptions {
  std::int32_t master_weights = 0;
  std::int32_t state_dtype = 0;
  std::int32_t stochastic_rounding = 0;
  std::int64_t seed = 0;
};

/// "options[2] (beta1)"
std::string where(std::size_t index, const RuleOption& option) {
  return fmt::format("options[{}] ({})", index, option.name);
}

[[noreturn]] void fail_choice(std::size_t index, const RuleOption& option, const std::string& found) {
  fail_argument("{}: is {}, expected one of {}", where(index, option), found, join(option.choices, ", "));
}

double choice_of(std::size_t index, const RuleOption& option, const gradstep_option& given) {
  if (given.text == nullptr) {
    const double value = given.value;
    if (!option.range.holds(value) || value != std::floor(value)) fail_choice(index, option, fmt::format("{}", value));
    return value;
  }
  for (std::size_t i = 0; i < option.choices.size(); ++i) {
    if (std::strcmp(option.choices[i], given.text) == 0) return static_cast<double>(i);
  }
  fail_choice(index, option, fmt::format("'{}'", given.text));
}

std::int64_t integer_of(std::size_t index, const RuleOption& option, const gradstep_option& given) {
  if (given.text == nullptr) {
    if (!option.range.holds(given.value) || given.value != std::floor(given.value)) {
      fail_argument("{}: is {}, expected a whole number of at most 2^53 (as text: of 64 bits)", where(index, option),
                    given.value);
    }
    return static_cast<std::int64_t>(given.value);
  }
  std::int64_t value = 0;
  const char* end = given.text + std::strlen(given.text);
  const auto [rest, error] = std::from_chars(given.text, end, value);
  if (error != std::errc{} || rest != end) {
    fail_argument("{}: is '{}', expected a whole number of 64 bits", where(index, option), given.text);
  }
  return value;
}

double number_of(std::size_t index, const RuleOption& option, const gradstep_option& given) {
  if (given.text != nullptr) fail_argument("{}: is '{}', expected a number", where(index, option), given.text);
  if (option.kind == GRADSTEP_OPTION_FLAG && given.value != 0 && given.value != 1) {
    fail_argument("{}: is {}, expected 0 or 1", where(index, option), given.value);
  }
  if (!option.range.holds(given.value)) {
    fail_out_of_range(option.range, given.value, GRADSTEP_ERR_INVALID_ARGUMENT, where(index, option));
  }
  return given.value;
}

std::size_t place_of_option(const RuleType& type, std::span<const RuleOption> known, std::size_t index,
                            const char* name) {
  if (name == nullptr) fail_argument("options[{}].name: is NULL", index);
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (std::strcmp(known[i].name, name) == 0) return i;
  }
  fail_argument("options[{}].name: '{}' is not an option of {}, expected one of {}", index, name, type.about.name,
                join(known, ", ", [](const RuleOption& option) { return option.name; }));
}

/// nullptr: the name is not a second one.
const SecondName* second_name(const char* name) {
  const auto* const found =
      std::ranges::find_if(kSecondNames, [&](const SecondName& each) { return std::strcmp(each.name, name) == 0; });
  return found != std::end(kSecondNames) ? found : nullptr;
}

}  // namespace

const RuleType& find_rule(const char* name) {
  if (name == nullptr) fail_argument("rule: is NULL");
  if (const SecondName* second = second_name(name)) name = second->rule;
  std::vector<const char*> names;
  for (std::size_t i = 0; i < rule_count(); ++i) {
    const RuleType& type = rule_at(i);
    if (std::strcmp(type.about.name, name) == 0) return type;
    names.push_back(type.about.name);
  }
  for (const SecondName& second : kSecondNames) names.push_back(second.name);
  fail_argument("rule: '{}' is not known, expected one of {}", name, join(names, ", "));
}

std::vector<RuleOption> options_of(const RuleType& type, const char* name) {
  const rules::Description& about = type.about;
  std::vector<RuleOption> options;
  for (const rules::Field& field : about.fields) {
    options.push_back({GRADSTEP_OPTION_HYPER_PARAMETER, field.name, field.meaning, {}, field.initial, field.range});
  }
  for (const rules::Field& setting : about.settings) {
    options.push_back({GRADSTEP_OPTION_SETTING, setting.name, setting.meaning, {}, setting.initial, setting.range});
  }
  for (const rules::Choice& choice : about.choices) {
    const bool is_flag = choice.values.empty();
    options.push_back({is_flag ? GRADSTEP_OPTION_FLAG : GRADSTEP_OPTION_CHOICE, choice.name, choice.meaning,
                       choice.values, static_cast<double>(choice.initial),
                       is_flag ? kFlagRange : range_of_choices(choice.values.size())});
  }
  if (const SecondName* second = second_name(name)) {
    std::ranges::find_if(options, [&](const RuleOption& option) {
      return std::strcmp(option.name, second->flag) == 0;
    })->initial = 1;
  }
  options.insert(options.end(), std::begin(kSharedOptions), std::end(kSharedOptions));
  return options;
}

Rule make_rule(const RuleType& type, std::span<const RuleOption> known, std::span<const gradstep_option> options) {
  std::vector<double> values;
  for (const RuleOption& option : known) values.push_back(option.initial);
  std::vector<bool> is_given(known.size());
  SharedOptions shared;
  for (std::size_t i = 0; i < options.size(); ++i) {
    const std::size_t place = place_of_option(type, known, i, options[i].name);
    if (is_given[place]) fail_argument("options[{}].name: '{}' was given before", i, options[i].name);
    is_given[place] = true;
    const RuleOption& option = known[place];
    if (option.kind == GRADSTEP_OPTION_INTEGER) {
      shared.seed = integer_of(i, option, options[i]);
    } else {
      values[place] =
          option.kind == GRADSTEP_OPTION_CHOICE ? choice_of(i, option, options[i]) : number_of(i, option, options[i]);
    }
  }
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (std::isnan(values[i]))
      fail_argument("options: {} is not there, and {} has no default for it", known[i].name, type.about.name);
  }
  RuleOptions read;
  const double* next = values.data();
  for (std::size_t i = 0; i < type.about.fields.size(); ++i) read.fields[i] = *next++;
  for (std::size_t i = 0; i < type.about.settings.size(); ++i) read.settings[i] = *next++;
  for (std::size_t i = 0; i < type.about.choices.size(); ++i) read.choices[i] = static_cast<std::int32_t>(*next++);
  read.maximize = next[SharedPlace::maximize] != 0;
  read.counts_each = next[SharedPlace::step_counting] != 0;
  read.average = {next[SharedPlace::average_decay], static_cast<std::int64_t>(next[SharedPlace::average_start]),
                  static_cast<std::int64_t>(next[SharedPlace::average_every]),
                  static_cast<std::int32_t>(next[SharedPlace::average_warmup]),
                  static_cast<std::int32_t>(next[SharedPlace::average_equal])};
  read.decay_mode = static_cast<rules::DecayMode>(next[SharedPlace::decay_mode]);
  read.peak_learning_rate = next[SharedPlace::peak_learning_rate];
  read.trust_ratio = next[SharedPlace::trust_ratio] != 0;
  read.cautious_update = static_cast<CautiousUpdate>(next[SharedPlace::cautious_update]);
  read.unit_clip = {next[SharedPlace::adaptive_clip], next[SharedPlace::adaptive_clip_epsilon],
                    static_cast<ClipUnits>(next[SharedPlace::adaptive_clip_units])};
  read.center_gradients = next[SharedPlace::center_gradients] != 0;
  read.cautious_decay = next[SharedPlace::cautious_decay] != 0;
  shared.master_weights = static_cast<std::int32_t>(next[SharedPlace::master_weights]);
  shared.state_dtype = static_cast<std::int32_t>(next[SharedPlace::state_dtype]);
  shared.stochastic_rounding = static_cast<std::int32_t>(next[SharedPlace::stochastic_rounding]);
  read.storage = storage_of(shared);
  return {type, read};
}

}  // namespace gradstep
