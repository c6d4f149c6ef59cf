// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// rules.hpp: what the library says of its rules, which Optimizer::by_name makes; rules that are written as text.
#pragma once

#include <gradstep/rule.h>

#include <cmath>
#include <gradstep/context.hpp>
#include <gradstep/options.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gradstep::inline cpp_v0 {

/// An option that a rule takes.
struct OptionDescription {
  std::string name;
  OptionKind kind = OptionKind::kHyperParameter;
  std::string meaning;               ///< one line
  std::vector<std::string> choices;  ///< the values of a choice
  std::optional<double> initial;     ///< the default; of a choice its place in `choices`; nothing: it must be given
  double minimum = 0;                ///< legal numbers are finite, at least `minimum`,
  double limit = 0;                  ///< and below `limit`
};

struct RuleDescription {
  std::string name;
  std::string source;                      ///< paper, algorithm, implementation whose numbers it reproduces
  std::string formula;                     ///< g: gradient; p: parameter; t: steps before this one
  std::vector<std::string> states;         ///< that it can have
  std::vector<OptionDescription> options;  ///< its own, then those that all rules share
};

namespace detail {

/// What commas separate; nothing of "" and of nullptr.
inline std::vector<std::string> split(const char* text) {
  std::vector<std::string> parts;
  if (text == nullptr || *text == '\0') return parts;
  std::string_view rest = text;
  for (std::size_t comma = rest.find(','); comma != rest.npos; comma = rest.find(',')) {
    parts.emplace_back(rest.substr(0, comma));
    rest.remove_prefix(comma + 1);
  }
  parts.emplace_back(rest);
  return parts;
}

inline OptionDescription described(const gradstep_rule_option& option) {
  return {.name = option.name,
          .kind = static_cast<OptionKind>(option.kind),
          .meaning = option.meaning,
          .choices = split(option.choices),
          .initial = std::isnan(option.initial) ? std::nullopt : std::optional(option.initial),
          .minimum = option.minimum,
          .limit = option.limit};
}

}  // namespace detail

/// The rules that there are by name. Shampoo is none of them.
inline std::vector<RuleDescription> describe_rules() {
  std::size_t count = 0;
  check(gradstep_rule_count(&count));
  std::vector<RuleDescription> rules(count);
  for (std::size_t i = 0; i < count; ++i) {
    auto rule = detail::sized<gradstep_rule>();
    check(gradstep_rule_describe(i, &rule));
    const auto options = detail::records_of<gradstep_rule_option>(
        [&](gradstep_rule_option* records, std::size_t size, std::size_t capacity, std::size_t* found) {
          return gradstep_rule_options(rule.name, records, size, capacity, found);
        });
    rules[i] = {rule.name, rule.source, rule.formula, detail::split(rule.states), {}};
    for (const gradstep_rule_option& option : options) rules[i].options.push_back(detail::described(option));
  }
  return rules;
}

/// Makes a rule of its text (docs/rules_as_text.md) and returns its name, for Optimizer::by_name and the like. The rule
/// is the process's. Throws InvalidArgument, which names line, column, what was expected and what was found, for a text
/// that is none, and for a name that has another text.
inline std::string define_rule(const Context& context, const std::string& text) {
  const char* name = nullptr;
  check(gradstep_rule_define(context.c(), text.c_str(), &name));
  return name;
}

}  // namespace gradstep::inline cpp_v0
