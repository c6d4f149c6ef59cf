// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/first_order/rule.h"

#include <set>

#include "unit/optim/optimizer_fixture.h"

namespace gradstep::test {
namespace {

RuleOptions initial_options(const RuleType& type) {
  RuleOptions options;
  for (std::size_t i = 0; i < type.about.fields.size(); ++i) options.fields[i] = type.about.fields[i].initial;
  for (std::size_t i = 0; i < type.about.settings.size(); ++i) options.settings[i] = type.about.settings[i].initial;
  for (std::size_t i = 0; i < type.about.choices.size(); ++i) options.choices[i] = type.about.choices[i].initial;
  return options;
}

std::vector<Schedule> schedules_of(const Rule& rule) {
  std::vector<Schedule> schedules;
  for (const double value : rule.values()) schedules.emplace_back(std::isnan(value) ? 0.1 : value);
  return schedules;
}

TEST(Rule, InitialValuesAreLegalAndEveryPartIsDescribed) {
  std::set<std::string> names;
  for (const RuleType& type : rule_types()) {
    const rules::Description& about = type.about;
    EXPECT_TRUE(names.insert(about.name).second) << about.name;
    EXPECT_NE(std::string(about.source), "");
    EXPECT_NE(std::string(about.formula), "");
    for (const rules::Field& field : about.fields) {
      EXPECT_NE(std::string(field.meaning), "") << about.name << " " << field.name;
      const bool is_required = std::isnan(field.initial);
      EXPECT_TRUE(is_required || (field.initial >= field.range.minimum && field.initial < field.range.limit))
          << about.name << " " << field.name;
    }
    for (const rules::Choice& choice : about.choices) EXPECT_NE(std::string(choice.meaning), "") << choice.name;
    EXPECT_STREQ(about.fields[type.weight_decay].name, "weight_decay");
    EXPECT_NO_THROW(Rule(type, initial_options(type)));
  }
}

TEST(Rule, AChoiceThatIsUnknownListsTheKnownOnes) {
  for (const RuleType& type : rule_types()) {
    for (std::size_t i = 0; i < type.about.choices.size(); ++i) {
      const rules::Choice& choice = type.about.choices[i];
      if (choice.values.empty()) continue;
      for (const std::int32_t value : {-1, static_cast<std::int32_t>(choice.values.size())}) {
        RuleOptions options = initial_options(type);
        options.choices[i] = value;
        const std::size_t last = choice.values.size() - 1;
        expect_error(GRADSTEP_ERR_INVALID_ARGUMENT,
                     fmt::format("options.{}: is {}, expected 0 ({})", choice.name, value, choice.values[0]).c_str(),
                     [&] { Rule(type, options); });
        expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, fmt::format(" or {} ({})", last, choice.values[last]).c_str(),
                     [&] { Rule(type, options); });
      }
    }
  }
}

TEST(Rule, ARequirementTellsAllThatIsNeededAndFound) {
  auto o = default_options<gradstep_sgd_options>();
  o.learning_rate = 0.1;
  o.nesterov = 1;
  o.dampening = 0.5;
  const Rule rule = make_rule(o);
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT,
               "nesterov: needs momentum above 0 and dampening 0, found momentum 0 and dampening 0.5",
               [&] { rule.check(schedules_of(rule)); });
}

TEST(Rule, EveryCombinationOfOptionsHasAKernel) {
  for (const RuleType& type : rule_types()) {
    const std::size_t choices = type.about.choices.size();
    for (std::size_t bits = 0; bits < std::size_t{1} << choices; ++bits) {
      RuleOptions options = initial_options(type);
      for (std::size_t i = 0; i < choices; ++i) options.choices[i] = static_cast<std::int32_t>((bits >> i) & 1);
      const Rule rule(type, options);
      for (const double decay : {0.0, 0.1}) {
        std::vector<Schedule> schedules = schedules_of(rule);
        schedules[type.weight_decay] = Schedule(decay);
        EXPECT_GE(static_cast<std::int32_t>(rule.kernel(schedules)), 0) << type.about.name << " " << bits;
      }
    }
  }
}

TEST(Rule, AStateBehindAFlagIsUnknownWithoutIt) {
  auto o = default_options<gradstep_adam_options>();
  EXPECT_EQ(make_rule(o).state_names().size(), 2U);
  o.amsgrad = 1;
  EXPECT_STREQ(make_rule(o).state_names()[2], "max_exp_avg_sq");
}

TEST(Rule, KeysDifferWhereAnyOptionDoes) {
  for (const RuleType& type : rule_types()) {
    std::set<std::string> keys = {Rule(type, initial_options(type)).key()};
    std::size_t expected = 1;
    const auto changed = [&](auto change) {
      RuleOptions options = initial_options(type);
      change(options);
      keys.insert(Rule(type, options).key());
      EXPECT_EQ(keys.size(), ++expected) << type.about.name;
    };
    for (std::size_t i = 0; i < type.about.choices.size(); ++i) {
      changed([&](RuleOptions& options) { options.choices[i] = 1 - options.choices[i]; });
    }
    for (std::size_t i = 0; i < type.about.settings.size(); ++i) {
      const rules::Field& setting = type.about.settings[i];
      const double other = setting.initial == 3 ? 4 : 3;
      const double value = setting.range.holds(0.25) ? 0.25 : other;
      changed([&](RuleOptions& options) { options.settings[i] = value; });
    }
    changed([](RuleOptions& options) { options.maximize = true; });
    changed([](RuleOptions& options) { options.storage.format = StateFormat::bf16; });
    changed([](RuleOptions& options) { options.storage.seed = 7; });
    if (type.scope == rules::Scope::tensor) changed([](RuleOptions& options) { options.counts_each = true; });
    changed([](RuleOptions& options) { options.storage.master_weights = true; });
    changed([](RuleOptions& options) { options.storage.stochastic_rounding = true; });
    changed([](RuleOptions& options) { options.unit_clip.ratio = 0.01; });
    changed([](RuleOptions& options) { options.center_gradients = true; });
    if (type.average_share != nullptr) continue;  // what follows does not go with it
    changed([](RuleOptions& options) { options.average.decay = 0.5; });
    changed([](RuleOptions& options) { options.decay_mode = rules::DecayMode::independent; });
    changed([](RuleOptions& options) { options.cautious_update = CautiousUpdate::mean; });
    if (type.about.trust_ratio) continue;  // likewise
    const bool looks_at_tensors =
        type.orthogonalization != nullptr || type.projection != nullptr || type.factoring != nullptr;
    if (!looks_at_tensors) changed([](RuleOptions& options) { options.trust_ratio = true; });
    changed([](RuleOptions& options) {
      options.decay_mode = rules::DecayMode::decoupled;
      options.cautious_decay = true;
    });
  }
}

}  // namespace
}  // namespace gradstep::test
