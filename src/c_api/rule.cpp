// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "gradstep/rule.h"

#include <deque>
#include <map>
#include <memory>
#include <mutex>

#include "c_api/any_device.h"
#include "c_api/guard.h"
#include "c_api/handles.h"
#include "core/options.h"
#include "core/text.h"
#include "optim/first_order/defined_rules.h"
#include "optim/first_order/first_order_optimizer.h"
#include "optim/first_order/named_options.h"

using namespace gradstep;

namespace {

/// Texts that are made once and stay until the process ends, destructors of other libraries included.
struct Texts {
  std::string states;
  std::deque<std::string> choices;  // by option; empty = no choice
};

const Texts& texts_of(const RuleType& type) {
  struct Made {
    std::mutex mutex;
    std::map<const RuleType*, Texts> of;
  };
  static Made& made = *new Made;
  const std::scoped_lock lock(made.mutex);
  if (const auto known = made.of.find(&type); known != made.of.end()) return known->second;
  Texts texts;
  std::vector<const char*> names;
  for (const rules::State& state : type.about.states) names.push_back(state.name);
  for (const rules::Number& number : type.about.numbers) names.push_back(number.name);
  names.insert(names.end(), type.about.whole_names.begin(), type.about.whole_names.end());
  texts.states = join(names, ",");
  for (const RuleOption& option : options_of(type, type.about.name)) texts.choices.push_back(join(option.choices, ","));
  return made.of.emplace(&type, std::move(texts)).first->second;
}

gradstep_rule_option record_of(const RuleOption& option, const std::string& choices) {
  gradstep_rule_option record{};
  record.kind = option.kind;
  record.name = option.name;
  record.meaning = option.meaning;
  record.choices = option.choices.empty() ? nullptr : choices.c_str();
  record.initial = option.initial;
  record.minimum = option.range.minimum;
  record.limit = option.range.limit;
  return record;
}

Rule rule_of(const char* name, const gradstep_option* options, std::size_t count) {
  const RuleType& type = find_rule(name);
  if (count > 0) check_out("options", options);
  return make_rule(type, options_of(type, name), std::span(options, count));
}

RulesByGroup rules_of(const gradstep_group_rule* groups, std::size_t count) {
  if (count == 0) fail_argument("group_count: is 0, expected at least 1");
  check_out("groups", groups);
  std::vector<Rule> rules;
  for (std::size_t g = 0; g < count; ++g) {
    try {
      rules.push_back(rule_of(groups[g].rule, groups[g].options, groups[g].option_count));
    } catch (const Error& error) {
      fail(error.status(), "groups[{}]: {}", g, error.what());
    }
  }
  return RulesByGroup(std::move(rules));
}

}  // namespace

gradstep_status gradstep_rule_count(size_t* count) noexcept {
  return guarded([&] { check_out("count", count) = rule_count(); });
}

gradstep_status gradstep_rule_describe(size_t index, gradstep_rule* rule) noexcept {
  return guarded([&] {
    const std::size_t count = rule_count();
    if (index >= count) fail_argument("index: is {}, there are {} rules", index, count);
    const RuleType& type = rule_at(index);
    gradstep_rule written{};
    written.name = type.about.name;
    written.source = type.about.source;
    written.formula = type.about.formula;
    written.states = texts_of(type).states.c_str();
    write_struct("rule", rule, written);
  });
}

gradstep_status gradstep_rule_define(gradstep_context* context, const char* text, const char** name) noexcept {
  return guarded_math([&] {
    check_out("name", name);
    const std::shared_ptr<Context> shared = object_of(context);
    if (text == nullptr) fail_argument("text: is NULL");
    const RuleType& type = define_rule(text);
    shared->log().write(GRADSTEP_LOG_INFO, "rule {}: its text is known", type.about.name);
    *name = type.about.name;
  });
}

gradstep_status gradstep_rule_options(const char* rule, gradstep_rule_option* records, size_t record_size,
                                      size_t capacity, size_t* count) noexcept {
  return guarded([&] {
    check_out("count", count);
    const RuleType& type = find_rule(rule);
    const std::vector<RuleOption> options = options_of(type, rule);
    std::vector<gradstep_rule_option> all;
    for (std::size_t i = 0; i < options.size(); ++i) all.push_back(record_of(options[i], texts_of(type).choices[i]));
    write_records<gradstep_rule_option>(records, record_size, capacity, all);
    *count = all.size();
  });
}

gradstep_status gradstep_optimizer_create(gradstep_context* context, const char* rule, const gradstep_option* options,
                                          size_t option_count, const gradstep_parameter* parameters, size_t n,
                                          gradstep_optimizer** out) noexcept {
  return guarded_math([&] {
    check_out("out", out);
    std::shared_ptr<Context> shared = object_of(context);
    hand_out(out, std::make_shared<FirstOrderOptimizer>(std::move(shared), rule_of(rule, options, option_count),
                                                        Schema(parameters, n)));
  });
}

gradstep_status gradstep_optimizer_create_by_group(gradstep_context* context, const gradstep_group_rule* groups,
                                                   size_t group_count, const gradstep_parameter* parameters, size_t n,
                                                   gradstep_optimizer** out) noexcept {
  return guarded_math([&] {
    check_out("out", out);
    std::shared_ptr<Context> shared = object_of(context);
    hand_out(out, std::make_shared<FirstOrderOptimizer>(std::move(shared), rules_of(groups, group_count),
                                                        Schema(parameters, n)));
  });
}

gradstep_status gradstep_rule_state_bytes(const char* rule, const gradstep_option* options, size_t option_count,
                                          const gradstep_parameter* parameters, size_t n, int64_t* bytes) noexcept {
  return guarded_math([&] {
    check_out("bytes", bytes);
    const Schema schema = schema_of_any_device(parameters, n);
    *bytes = FirstOrderOptimizer::state_bytes(rule_of(rule, options, option_count), schema);
  });
}
