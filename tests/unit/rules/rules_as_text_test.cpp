// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The rules of src/rules beside their texts: the interpreter, in f64, is a reference for what kernels compute.
#include <algorithm>
#include <cmath>
#include <string>

#include "optim/first_order/defined_rules.h"
#include "optim/first_order/named_options.h"
#include "rules/list.h"
#include "unit/optim/optimizer_fixture.h"

namespace gradstep::test {
namespace {

using Options = std::vector<gradstep_option>;

/// A field or setting of that name; NULL = there is none.
const rules::Field* find_number(const rules::Description& about, const char* name) {
  for (const auto numbers : {about.fields, about.settings}) {
    const auto found = std::ranges::find(numbers, std::string(name), &rules::Field::name);
    if (found != numbers.end()) return &*found;
  }
  return nullptr;
}

/// Another number than the default, large or small enough to be seen in a few steps of numbers near 1.
double other_number(const rules::Field& field) {
  const double visible = std::clamp(field.initial, 0.1, 5.0);
  for (const double number : {0.8 * visible, 1.2 * visible, 7.0}) {
    if (field.range.holds(number)) return number;
  }
  return field.initial;
}

/// A rule of the list, and the one that its text is.
struct Pair {
  const RuleType& compiled;
  const RuleType& text;

  /// The text has its weight decay inside.
  bool decays_itself() const { return text.program->weight_decay() == rules::text::Program::kNone; }
  std::string name() const { return compiled.about.name; }

  Options other_numbers() const {
    Options options;
    for (const rules::Field& field : text.about.fields) {
      if (std::isnan(field.initial) || std::string(field.name) == "weight_decay") continue;
      options.push_back({field.name, other_number(*find_number(compiled.about, field.name)), nullptr});
    }
    return options;
  }

  std::vector<Options> option_sets() const {
    const gradstep_option decay = {"weight_decay", 0.1, nullptr};
    const gradstep_option maximize = {"maximize", 1, nullptr};
    if (decays_itself()) return {{decay}, {decay, maximize}};
    return {{decay, {"decay_mode", 0, "coupled"}},
            {decay, {"decay_mode", 0, "decoupled"}, maximize},
            {decay, {"decay_mode", 0, "independent"}, {"cautious_update", 0, "mean"}},
            {{"trust_ratio", 1, nullptr}, {"weight_decay", 0, nullptr}}};
  }
};

std::vector<Pair> pairs() {
  std::vector<Pair> found;
  for (const RuleType& type : rule_types()) {
    if (type.about.text != nullptr) found.push_back({type, define_rule(type.about.text)});
  }
  return found;
}

class Trial {
 public:
  Trial(const RuleType& type, Options options, const Schedule* rate)
      : about_(type.about),
        optimizer_(make_context(), rule_of(type, std::move(options)), make_schema(kShapes, DType::f64)) {
    if (rate != nullptr) optimizer_.set_schedule(-1, "learning_rate", *rate);
  }

  void step(std::uint32_t t) {
    model_.draw_gradients(t);
    EXPECT_TRUE(model_.step(optimizer_).applied);
  }

  /// States of elements that are there, in the order of the description.
  std::vector<const rules::State*> states() {
    const std::vector<StoredState> stored = optimizer_.state().stored();
    std::vector<const rules::State*> there;
    for (const rules::State& state : about_.states) {
      if (std::ranges::find(stored, state.name, &StoredState::name) != stored.end()) there.push_back(&state);
    }
    return there;
  }
  /// Puts positive numbers into the state, as a host does.
  void replace(const char* state, std::uint32_t seed) {
    for (std::size_t k = 0; k < kShapes.size(); ++k) {
      auto values = random_values<double>(model_.params[k].values.size(), seed + static_cast<std::uint32_t>(k));
      for (double& value : values) value = std::abs(value);
      optimizer_.state().set(k, state, array_of(values));
    }
  }
  std::vector<double> state(const char* name, std::size_t parameter) {
    std::vector<double> values(model_.params[parameter].values.size());
    optimizer_.state().get(parameter, name, array_of(values));
    return values;
  }
  const std::vector<double>& parameter(std::size_t k) const { return model_.params[k].values; }

 private:
  static Rule rule_of(const RuleType& type, Options options) {
    options.push_back({"learning_rate", 0.01, nullptr});
    return make_rule(type, options);
  }
  static Array array_of(std::vector<double>& values) {
    return compact_array(values.data(), static_cast<std::int64_t>(values.size()), DType::f64);
  }

  const rules::Description& about_;
  FirstOrderOptimizer optimizer_;
  Model<double> model_;
};

/// Formulas divide where kernels multiply by a reciprocal: a few roundings of numbers of size 1 are left.
void expect_near(const std::vector<double>& values, const std::vector<double>& expected, const std::string& what) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_NEAR(values[i], expected[i], 1e-12 * (1 + std::abs(expected[i]))) << what;
  }
}

/// Ten steps, and thirty with other states: beyond the end of warm-ups, and of RAdam's plain steps.
void expect_equal_trials(const Pair& pair, const Options& options, const Schedule* rate) {
  Trial compiled(pair.compiled, options, rate);
  Trial text(pair.text, options, rate);
  const std::vector<const rules::State*> states = compiled.states();
  const std::vector<const rules::State*> text_states = text.states();
  ASSERT_LE(states.size(), text_states.size()) << pair.name();
  for (std::uint32_t t = 0; t < 40; ++t) {
    for (std::size_t s = 0; s < states.size() && t == 10; ++s) {
      const auto seed = static_cast<std::uint32_t>(50 + s);
      compiled.replace(states[s]->name, seed);
      text.replace(text_states[s]->name, seed);
    }
    compiled.step(t);
    text.step(t);
  }
  for (std::size_t k = 0; k < kShapes.size(); ++k) {
    expect_near(compiled.parameter(k), text.parameter(k), pair.name());
    for (std::size_t s = 0; s < states.size(); ++s) {
      expect_near(compiled.state(states[s]->name, k), text.state(text_states[s]->name, k),
                  pair.name() + " " + states[s]->name);
    }
  }
}

gradstep_schedule falling_rate() {
  gradstep_schedule schedule{};
  schedule.struct_size = sizeof schedule;
  schedule.power = 1;
  schedule.kind = GRADSTEP_SCHEDULE_POLYNOMIAL;
  schedule.init_value = 0.02;
  schedule.end_value = 0.005;
  schedule.decay_steps = 30;
  return schedule;
}

TEST(RulesAsText, KernelsComputeWhatTheTextsSay) {
  const gradstep_schedule raw = falling_rate();
  const Schedule falling("schedule", &raw);
  for (const Pair& pair : pairs()) {
    for (Options options : pair.option_sets()) {
      SCOPED_TRACE(pair.name() + " " + options[0].name + " " +
                   (options.back().text != nullptr ? options.back().text : ""));
      expect_equal_trials(pair, options, nullptr);
      expect_equal_trials(pair, options, &falling);
      const Options numbers = pair.other_numbers();
      options.insert(options.end(), numbers.begin(), numbers.end());
      expect_equal_trials(pair, options, nullptr);
    }
  }
}

/// A text that is copied takes the rule's options, and is stored as the rule is.
TEST(RulesAsText, DeclareWhatTheDescriptionsDo) {
  for (const Pair& pair : pairs()) {
    const rules::Description& about = pair.compiled.about;
    EXPECT_EQ(pair.text.about.name, "my_" + pair.name());
    for (const rules::Field& field : pair.text.about.fields) {
      if (std::string(field.name) == "weight_decay" && !pair.decays_itself()) continue;  // every text has one
      const rules::Field* expected = find_number(about, field.name);
      ASSERT_NE(expected, nullptr) << pair.name() << " " << field.name;
      EXPECT_EQ(field.range.minimum, expected->range.minimum) << pair.name() << " " << field.name;
      EXPECT_TRUE(field.range.limit == expected->range.limit || expected->range.is_whole) << pair.name() << field.name;
      const bool both_required = std::isnan(field.initial) && std::isnan(expected->initial);
      EXPECT_TRUE(field.initial == expected->initial || both_required) << pair.name() << " " << field.name;
    }
    Trial compiled(pair.compiled, pair.other_numbers(), nullptr);
    const std::vector<const rules::State*> states = compiled.states();
    for (std::size_t s = 0; s < states.size(); ++s) {
      EXPECT_EQ(pair.text.about.states[s].has_signs, states[s]->has_signs) << pair.name() << " " << states[s]->name;
    }
  }
}

}  // namespace
}  // namespace gradstep::test
