// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Prints what the rules of src/rules say of themselves, and the options that all share, as JSON, for rules.py. A number
// that no JSON has is null.
#include <cmath>
#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

#include "kernels/stored.h"
#include "optim/first_order/second_names.h"
#include "optim/first_order/shared_options.h"
#include "rules/list.h"

namespace gradstep::rules {
namespace {

std::string quoted(const std::string& text) {
  std::string made = "\"";
  for (const char c : text) {
    if (c == '\n') {
      made += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') made += '\\';
    made += c;
  }
  return made + '"';
}
/// "" for NULL.
std::string quoted_or_empty(const char* text) { return quoted(text != nullptr ? text : ""); }

std::string number(double value) {
  if (!std::isfinite(value)) return "null";
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

/// "[a, b]" of what `print` makes of each.
template <class Range, class Print>
std::string listed(const Range& range, const Print& print) {
  std::string made = "[";
  for (const auto& each : range) made += (made.size() > 1 ? ",\n" : "") + print(each);
  return made + "]";
}

std::string print(const Field& field) {
  const bool is_bounded = field.range.minimum != Range{}.minimum;
  return "{\"name\": " + quoted(field.name) + ", \"minimum\": " + (is_bounded ? number(field.range.minimum) : "null") +
         ", \"limit\": " + number(field.range.limit) + ", \"initial\": " + number(field.initial) +
         ", \"whole\": " + (field.range.is_whole ? "true" : "false") + ", \"meaning\": " + quoted(field.meaning) + "}";
}

std::string print(const Choice& choice) {
  return "{\"name\": " + quoted(choice.name) + ", \"values\": " + listed(choice.values, quoted) +
         ", \"initial\": " + std::to_string(choice.initial) + ", \"meaning\": " + quoted(choice.meaning) + "}";
}

std::string print(const RuleOption& option) {
  constexpr const char* kKinds[] = {"number", "number", "choice", "flag", "integer"};
  return "{\"kind\": " + quoted(kKinds[option.kind]) +
         ", \"field\": " + print(Field{option.name, option.range, option.initial, option.meaning}) +
         ", \"values\": " + listed(option.choices, quoted) + "}";
}

/// The name of a setting that states or numbers start with; "" for 0.
std::string print_initial(int setting, const Description& about) {
  return quoted(setting != State::kNone ? about.settings[static_cast<std::size_t>(setting)].name : "");
}

std::string print(const State& state, const Description& about) {
  return "{\"name\": " + quoted(state.name) + ", \"has_signs\": " + (state.has_signs ? "true" : "false") +
         ", \"is_exact\": " + (state.is_exact ? "true" : "false") +
         ", \"initial\": " + print_initial(state.initial, about) + "}";
}

std::string print(const Number& number, const Description& about) {
  return "{\"name\": " + quoted(number.name) + ", \"initial\": " + print_initial(number.initial, about) + "}";
}

/// One way to set a rule up, and the states that it has then.
struct Case {
  std::vector<std::int32_t> choices;
  std::vector<bool> are_there;  ///< the hyper-parameters: false = absent
  std::uint32_t states = 0;
};

std::string print(const Case& found) {
  return "[" + listed(found.choices, [](std::int32_t choice) { return std::to_string(choice); }) + ", " +
         listed(found.are_there, [](bool is_there) { return std::string(is_there ? "1" : "0"); }) + ", " +
         std::to_string(found.states) + "]";
}

template <class Rule>
std::vector<Case> cases() {
  const Description& about = Rule::kAbout;
  std::vector<std::vector<std::int32_t>> choices{{}};
  for (const Choice& choice : about.choices) {
    std::vector<std::vector<std::int32_t>> longer;
    // A rule of one variant has its states whatever is chosen.
    const std::size_t count = Rule::kVariants == 1 ? 1 : choice.values.empty() ? 2 : choice.values.size();
    for (const auto& before : choices) {
      for (std::size_t value = 0; value < count; ++value) {
        longer.push_back(before);
        longer.back().push_back(static_cast<std::int32_t>(value));
      }
    }
    choices = longer;
  }
  const std::size_t fields = about.fields.size();
  std::vector<Case> found;
  for (const auto& chosen : choices) {
    for (std::size_t bits = 0; bits < std::size_t{1} << fields; ++bits) {
      Case each{chosen, {}, 0};
      std::vector<Setup::Value> values(fields);
      for (std::size_t i = 0; i < fields; ++i) {
        each.are_there.push_back((bits >> i & 1) != 0);
        values[i] = {each.are_there[i] ? std::nan("") : 0, !each.are_there[i]};
      }
      each.states = Rule::states(Rule::variant({chosen.data(), values.data()}));
      found.push_back(each);
    }
  }
  return found;
}

/// With the initial values; what the host must give changes with the steps.
template <class Rule>
double largest_gradient(double largest) {
  const std::vector<std::int32_t> choices(kMaxChoices);
  std::vector<Setup::Value> values;
  for (const Field& field : Rule::kAbout.fields) values.push_back({field.initial, field.initial == 0});
  return Rule::largest_gradient({choices.data(), values.data()}, largest);
}

template <class Rule>
std::string print_rule() {
  const Description& about = Rule::kAbout;
  const auto text = [](const auto& each) { return print(each); };
  const auto kept = [&](const auto& each) { return print(each, about); };
  return "{\"name\": " + quoted(about.name) + ", \"source\": " + quoted(about.source) +
         ", \"formula\": " + quoted(about.formula) + ", \"text\": " + quoted_or_empty(about.text) +
         ", \"no_text\": " + quoted_or_empty(about.no_text) + ",\n\"fields\": " + listed(about.fields, text) +
         ",\n\"settings\": " + listed(about.settings, text) + ",\n\"choices\": " + listed(about.choices, text) +
         ",\n\"states\": " + listed(about.states, kept) + ",\n\"numbers\": " + listed(about.numbers, kept) +
         ",\n\"whole_states\": " + quoted_or_empty(about.whole_states) + ",\n\"largest_gradient\": [" +
         number(largest_gradient<Rule>(kernels::kLargestStored<float>)) + ", " +
         number(largest_gradient<Rule>(kernels::kLargestStored<double>)) +
         "],\n\"cases\": " + listed(cases<Rule>(), text) + "}";
}

template <class... Rules>
void print_rules(RuleList<Rules...> /*list*/) {
  const std::vector<std::string> rules = {print_rule<Rules>()...};
  const std::string all = listed(rules, [](const std::string& rule) { return rule; });
  const std::string shared = listed(kSharedOptions, [](const RuleOption& option) { return print(option); });
  const std::string second = listed(kSecondNames, [](const SecondName& name) {
    return "[" + quoted(name.rule) + ", " + quoted(name.name) + ", " + quoted(name.flag) + "]";
  });
  std::puts(("{\"rules\": " + all + ",\n\"shared\": " + shared + ",\n\"second_names\": " + second + "}").c_str());
}

}  // namespace
}  // namespace gradstep::rules

int main() { gradstep::rules::print_rules(gradstep::rules::AllRules{}); }
