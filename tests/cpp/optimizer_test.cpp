// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <gradstep/gradstep.hpp>
#include <limits>
#include <thread>

namespace gradstep {
namespace {

/// One parameter of two elements and its gradient.
struct Model {
  std::vector<float> value{1, -1};
  std::vector<float> gradient{0.5F, 2};
  TensorList params{value};
  ConstTensorList grads{gradient};
  Parameters schema = {{.name = "weight", .shape = {2}}};
};

TEST(CppOptimizer, AFirstStepChangesTheNumbersWhereTheyLie) {
  // docs:begin first
  const gradstep::Context context;
  std::vector<float> weight = {1, 2, 3, 4};
  const std::vector<float> gradient = {0.5F, -0.5F, 1, -1};
  auto adam = gradstep::Optimizer::adam(context, {.learning_rate = 0.25}, {{.name = "weight", .shape = {4}}});
  adam.step(gradstep::TensorList{weight}, gradstep::ConstTensorList{gradient});
  // docs:end first
  const float expected[] = {0.75F, 2.25F, 2.75F, 4.25F};
  for (std::size_t i = 0; i < weight.size(); ++i) EXPECT_FLOAT_EQ(weight[i], expected[i]);
}

TEST(CppOptimizer, ASteppedParameterIsTheHostsOwnMemory) {
  const Context context;
  Model model;
  auto sgd = Optimizer::sgd(context, {.learning_rate = 0.5}, model.schema);
  sgd.step(model.params, model.grads);
  EXPECT_EQ(model.value, (std::vector<float>{0.75F, -2}));
  EXPECT_EQ(sgd.step_count(), 1);
  EXPECT_TRUE(sgd.poll());
}

TEST(CppOptimizer, ARuleIsMadeByItsNameAndOptions) {
  const Context context;
  Model model;
  const RuleOptions options = {{"learning_rate", 0.25}, {"maximize", true}, {"state_dtype", "bf16"}, {"seed", "-1"}};
  auto lion = Optimizer::by_name(context, "lion", options, model.schema);
  EXPECT_EQ(lion.memory().state_bytes, state_bytes("lion", options, model.schema));
  lion.step(model.params, model.grads);
  EXPECT_EQ(model.value, (std::vector<float>{1.25F, -0.75F}));
  EXPECT_THROW(Optimizer::by_name(context, "lions", options, model.schema), InvalidArgument);
  EXPECT_THROW(Optimizer::by_name(context, "lion", {{"lr", 1}}, model.schema), InvalidArgument);
}

/// The weights after two steps.
std::vector<float> stepped(Optimizer optimizer) {
  Model model;
  optimizer.step(model.params, model.grads);
  optimizer.step(model.params, model.grads);
  return model.value;
}

TEST(CppOptimizer, OptionsOfARuleMakeTheOptimizerOfItsName) {
  const Context context;
  const Parameters schema = Model().schema;
  const std::int64_t seed = std::numeric_limits<std::int64_t>::min();
  const LionOptions lion{
      .learning_rate = 0.25, .beta1 = 0.5, .maximize = true, .state_dtype = StateDtype::kBf16, .seed = seed};
  const RuleOptions named = {{"learning_rate", 0.25},
                             {"beta1", 0.5},
                             {"maximize", true},
                             {"state_dtype", "bf16"},
                             {"seed", std::to_string(seed)}};
  EXPECT_EQ(stepped(Optimizer(context, lion, schema)), stepped(Optimizer::by_name(context, "lion", named, schema)));
  EXPECT_EQ(state_bytes(lion, schema), 4);
  EXPECT_EQ(stepped(Optimizer(context, LambOptions{.learning_rate = 0.25, .decay_mode = DecayMode::kCoupled}, schema)),
            stepped(Optimizer::by_name(context, "lamb", {{"learning_rate", 0.25}, {"decay_mode", "coupled"}}, schema)));
  EXPECT_EQ(stepped(Optimizer::by_group(context, {lion, GroupRule{"adam", {{"learning_rate", 1}, {"maximize", true}}}},
                                        schema)),
            stepped(Optimizer(context, lion, schema)));
  try {
    const Optimizer bad(context, LionOptions{.learning_rate = 0.25, .beta1 = 1}, schema);
    ADD_FAILURE() << "beta1 = 1 was taken";
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("(beta1): is 1"), std::string::npos) << error.what();
  }
  EXPECT_THROW(Optimizer(context, LionOptions{}, schema), InvalidArgument);
}

TEST(CppOptimizer, AdamWIsAName) {
  const Context context;
  const Parameters schema = Model().schema;
  const AdamOptions adam{.learning_rate = 0.25, .weight_decay = 0.5, .decoupled_weight_decay = true};
  const std::vector<float> expected = stepped(Optimizer::adam(context, adam, schema));
  EXPECT_EQ(stepped(Optimizer(context, AdamWOptions{.learning_rate = 0.25, .weight_decay = 0.5}, schema)), expected);
  const RuleOptions options = {{"learning_rate", 0.25}, {"weight_decay", 0.5}};
  EXPECT_EQ(stepped(Optimizer::by_name(context, "adamw", options, schema)), expected);
}

/// Without matrices, and without a mean over the steps, Shampoo's step is that of its grafting rule.
TEST(CppOptimizer, ShampooInThePlaceOfAdamWKeepsItsLength) {
  const Context context;
  const Parameters schema = Model().schema;
  const AdamWOptions adamw{.learning_rate = 0.25, .beta1 = 0, .beta2 = 0.5, .epsilon = 0.125, .weight_decay = 0.5};
  ShampooOptions options = shampoo_from_adamw(adamw);
  options.precondition = 0;
  const std::vector<float> found = stepped(Optimizer::shampoo(context, options, schema));
  const std::vector<float> expected = stepped(Optimizer(context, adamw, schema));
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-6);
}

TEST(CppOptimizer, GroupsHaveRulesOfTheirOwnAndWeightsAnAverage) {
  const Context context;
  Model model;
  const RuleOptions lion = {{"learning_rate", 0.25}, {"average_decay", 0.5}};
  auto optimizer = Optimizer::by_group(context, {{"lion", lion}, {"adam", {{"learning_rate", 1}}}}, model.schema);
  EXPECT_EQ(optimizer.get_value("beta2", 1), 0.999);
  std::vector<float> average(2);
  EXPECT_THROW(optimizer.average(TensorList{average}), InvalidState);
  optimizer.step(model.params, model.grads);
  EXPECT_EQ(model.value, (std::vector<float>{0.75F, -1.25F}));
  optimizer.average(TensorList{average});
  EXPECT_EQ(average, model.value);
  EXPECT_THROW(Optimizer::by_group(context, {{"lion", {}}, {"adam", {}}}, model.schema), InvalidArgument);
}

TEST(CppOptimizer, RulesDescribeThemselvesAndAreMadeByTheirDescriptions) {
  const Context context;
  const Parameters matrix = {{.name = "weight", .shape = {2, 3}}};
  const std::vector<RuleDescription> rules = describe_rules();
  const auto adam = std::find_if(rules.begin(), rules.end(), [](const auto& rule) { return rule.name == "adam"; });
  ASSERT_NE(adam, rules.end());
  EXPECT_NE(adam->source.find("Kingma"), std::string::npos);
  EXPECT_NE(adam->formula.find("beta1"), std::string::npos);
  EXPECT_EQ(adam->states, (std::vector<std::string>{"exp_avg", "exp_avg_sq", "max_exp_avg_sq"}));
  const OptionDescription& beta2 = adam->options.at(2);
  EXPECT_EQ(beta2.name, "beta2");
  EXPECT_EQ(beta2.kind, OptionKind::kHyperParameter);
  EXPECT_EQ(beta2.meaning, "share of the mean square that a step keeps");
  EXPECT_EQ(beta2.initial, 0.999);
  EXPECT_EQ(beta2.minimum, 0);
  EXPECT_EQ(beta2.limit, 1);
  for (const RuleDescription& rule : rules) {
    RuleOptions all;
    for (const OptionDescription& option : rule.options) {
      EXPECT_EQ(option.kind == OptionKind::kChoice, !option.choices.empty()) << option.name;
      if (option.choices.empty()) {
        all.emplace_back(option.name, option.initial.value_or(option.minimum));
      } else {
        all.emplace_back(option.name, option.choices.at(static_cast<std::size_t>(option.initial.value())));
      }
    }
    EXPECT_NO_THROW(Optimizer::by_name(context, rule.name, all, matrix)) << rule.name;
  }
}

TEST(CppOptimizer, RulesAreWrittenAsText) {
  const Context context;
  Model model;
  const std::string text =
      "rule cpp_momentum\n"
      "hyper learning_rate; share = 0.5 in [0, 1)\n"
      "state m\n"
      "m = share * m + (1 - share) * g\n"
      "p = p - learning_rate * m\n";
  const std::string name = define_rule(context, text);
  EXPECT_EQ(name, "cpp_momentum");
  EXPECT_EQ(define_rule(context, "# the same\n" + text), name);
  EXPECT_EQ(describe_rules().back().formula, text);
  EXPECT_EQ(describe_rules().back().states, (std::vector<std::string>{"m"}));
  auto optimizer = Optimizer::by_name(context, name, {{"learning_rate", 2}}, model.schema);
  const std::vector<float> before = model.value;
  optimizer.step(model.params, model.grads);
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(model.value[i], before[i] - model.gradient[i]);
  try {
    define_rule(context, "rule cpp_bad\np = p + q\n");
    FAIL() << "a text that is none was taken";
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("text: line 2, column 9: expected one of g, p, t, found 'q'"),
              std::string::npos)
        << error.what();
  }
}

TEST(CppOptimizer, EveryRuleIsMadeAndSaysWhatItWouldHold) {
  const Context context;
  Model model;
  const Parameters& schema = model.schema;
  Optimizer rules[] = {Optimizer::sgd(context, {.learning_rate = 1, .momentum = 0.5}, schema),
                       Optimizer::rmsprop(context, {.learning_rate = 1}, schema),
                       Optimizer::adagrad(context, {.learning_rate = 1}, schema),
                       Optimizer::adam(context, {.learning_rate = 1, .decoupled_weight_decay = true}, schema),
                       Optimizer::shampoo(context, {.learning_rate = 1, .graft_type = GraftType::kAdam}, schema)};
  const std::int64_t expected[] = {
      state_bytes(SgdOptions{.learning_rate = 1, .momentum = 0.5}, schema),
      state_bytes(RmsPropOptions{.learning_rate = 1}, schema), state_bytes(AdaGradOptions{.learning_rate = 1}, schema),
      state_bytes(AdamOptions{.learning_rate = 1}, schema),
      state_bytes(ShampooOptions{.learning_rate = 1, .graft_type = GraftType::kAdam}, schema)};
  for (std::size_t i = 0; i < std::size(rules); ++i) {
    EXPECT_EQ(rules[i].memory().state_bytes, expected[i]) << "rule " << i;
    rules[i].step(model.params, model.grads);
    EXPECT_EQ(std::string(rules[i].metrics().at(0).name), "step_count");
  }
}

TEST(CppOptimizer, WhatIsNotSetIsRefusedByName) {
  const Context context;
  try {
    const auto adam = Optimizer::adam(context, {}, Model().schema);
    FAIL() << "Adam was made without a learning rate";
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("learning_rate"), std::string::npos) << error.what();
  }
}

TEST(CppOptimizer, OptionsOfAStepClipScaleAndTell) {
  const Context context;
  Model model;
  auto sgd = Optimizer::sgd(context, {.learning_rate = 1}, model.schema);
  std::vector<double> outcome(4);
  const StepResult result = sgd.step(model.params, model.grads, {.grad_scale = 2, .clip_value = 1, .outcome = outcome});
  EXPECT_EQ(model.value, (std::vector<float>{0, -2}));
  EXPECT_EQ(result.applied, 1);
  EXPECT_EQ(outcome[0], 1);
  EXPECT_EQ(outcome[3], 1);
  model.gradient[0] = INFINITY;
  std::vector<float> found_inf(1);
  const StepResult skipped =
      sgd.step(model.params, model.grads, {.skip_nonfinite = true, .found_inf = found_inf, .disjoint = true});
  EXPECT_EQ(skipped.applied, 0);
  EXPECT_EQ(found_inf[0], 1);
  EXPECT_EQ(model.value, (std::vector<float>{0, -2}));
}

TEST(CppOptimizer, AnUpdateLeavesTheParametersAlone) {
  const Context context;
  Model model;
  std::vector<float> change(2);
  const TensorList updates{change};
  auto sgd = Optimizer::sgd(context, {.learning_rate = 1}, model.schema);
  sgd.update(model.params, model.grads, updates);
  EXPECT_EQ(change, (std::vector<float>{-0.5F, -2}));
  EXPECT_EQ(model.value, (std::vector<float>{1, -1}));
  EXPECT_EQ(sgd.update(model.params, model.grads, updates, StepOptions{.grad_scale = 2}).applied, 1);
  EXPECT_EQ(change, (std::vector<float>{-1, -4}));
}

TEST(CppOptimizer, ListsOfOtherLengthsAreRefusedBeforeTheyAreRead) {
  const Context context;
  Model model;
  auto sgd = Optimizer::sgd(context, {.learning_rate = 1}, model.schema);
  EXPECT_THROW(sgd.step(model.params, ConstTensorList{}), InvalidArgument);
  EXPECT_THROW(sgd.step(model.params, ConstTensorList{}, StepOptions{}), InvalidArgument);
  EXPECT_THROW(sgd.update(model.params, model.grads, TensorList{}), InvalidArgument);
  EXPECT_EQ(sgd.step_count(), 0);
}

TEST(CppOptimizer, AParameterWithoutAGradientStays) {
  const Context context;
  Model model;
  auto sgd = Optimizer::sgd(context, {.learning_rate = 1}, model.schema);
  model.grads.set_data(0, nullptr);
  sgd.step(model.params, model.grads);
  EXPECT_EQ(model.value, (std::vector<float>{1, -1}));
}

TEST(CppOptimizer, HyperParametersAreNumbersSchedulesAndTensors) {
  const Context context;
  Model model;
  auto sgd = Optimizer::sgd(context, {.learning_rate = 1}, model.schema);
  sgd.set_value("learning_rate", 0.25);
  EXPECT_EQ(sgd.get_value("learning_rate"), 0.25);
  auto alive = std::make_shared<int>(0);
  sgd.set_value("learning_rate", [alive](std::int64_t t) { return t == 0 ? 0.5 : 2; });
  EXPECT_EQ(sgd.get_value("learning_rate"), 0.5);
  sgd.set_step_count(1);
  EXPECT_EQ(sgd.get_value("learning_rate"), 2);
  std::vector<double> number{0.125};
  sgd.set_tensor("learning_rate", number);
  EXPECT_EQ(sgd.get_value("learning_rate"), 0.125);
  EXPECT_EQ(alive.use_count(), 1) << "the schedule that was replaced is still kept";
  EXPECT_THROW(sgd.set_value("learning_speed", 1), InvalidArgument);
  EXPECT_EQ(sgd.group_count(), 1);
}

TEST(CppOptimizer, SchedulesHaveTheValuesOfTheirFormulas) {
  EXPECT_EQ(Schedule::constant(0.5)(100), 0.5);
  EXPECT_DOUBLE_EQ(Schedule::cosine({.init_value = 1, .end_value = 0, .decay_steps = 10})(5), 0.5);
  EXPECT_EQ(Schedule::polynomial({.init_value = 1, .end_value = 0, .decay_steps = 4})(1), 0.75);
  EXPECT_EQ(Schedule::exponential_decay({.init_value = 1, .decay_steps = 2, .decay_rate = 0.5, .staircase = true})(3),
            0.5);
  EXPECT_EQ(Schedule::inverse_time({.init_value = 1, .decay_steps = 1, .decay_rate = 1})(3), 0.25);
  EXPECT_EQ(Schedule::piecewise({3}, {1, 2})(4), 2);
  EXPECT_EQ(Schedule::constant(1).after_warmup(3)(0), 0.25);
  EXPECT_EQ(Schedule([](std::int64_t t) { return 2.0 * static_cast<double>(t); })(3), 6);
  EXPECT_THROW(Schedule::piecewise({3, 4}, {1, 2}), InvalidArgument);
  EXPECT_THROW(static_cast<void>(Schedule::cosine({})(0)), InvalidArgument);
}

TEST(CppOptimizer, AScheduleThatThrowsFailsTheStepWithItsWordsAndChangesNothing) {
  const Context context;
  Model model;
  auto sgd = Optimizer::sgd(context, {.learning_rate = 1}, model.schema);
  sgd.set_value("learning_rate", [](std::int64_t) -> double { throw std::logic_error("no plan for this step"); });
  try {
    sgd.step(model.params, model.grads);
    FAIL() << "a step was made without a learning rate";
  } catch (const CallbackError& error) {
    EXPECT_NE(std::string(error.what()).find("no plan for this step"), std::string::npos) << error.what();
  }
  EXPECT_EQ(model.value, (std::vector<float>{1, -1}));
  EXPECT_EQ(sgd.step_count(), 0);
}

TEST(CppOptimizer, StateIsSeenCopiedAndSet) {
  const Context context;
  Model model;
  auto adam = Optimizer::adam(context, {.learning_rate = 1, .beta1 = 0.5}, model.schema);
  adam.step(model.params, model.grads);
  EXPECT_EQ(adam.state_names(), "exp_avg,exp_avg_sq");
  const View moment = adam.state(0, "exp_avg");
  EXPECT_EQ(moment.as<float>()[1], 1);
  moment.as<float>()[1] = 8;
  std::vector<double> copy(2);
  adam.get_state(0, "exp_avg", copy);
  EXPECT_EQ(copy, (std::vector<double>{0.25, 8}));
  const std::vector<float> zeros(2);
  adam.set_state(0, "exp_avg", zeros);
  EXPECT_EQ(moment.as<const float>()[1], 0);
  auto other = Optimizer::adam(context, {.learning_rate = 1}, model.schema);
  other.copy_state(adam);
  EXPECT_EQ(other.step_count(), 1);
  EXPECT_THROW(static_cast<void>(adam.state(3, "exp_avg")), InvalidArgument);
}

TEST(CppOptimizer, ParametersAreAddedWithTheirGroups) {
  const Context context;
  Model model;
  auto sgd = Optimizer::sgd(context, {.learning_rate = 0.5}, model.schema);
  sgd.add_parameters({{.name = "bias", .shape = {1}, .group = 1}});
  EXPECT_EQ(sgd.group_count(), 2);
  EXPECT_EQ(sgd.get_value("learning_rate", 1), 0.5);
  EXPECT_THROW(sgd.add_parameters({{.name = "bias", .shape = {1}}}), InvalidArgument);
}

TEST(CppOptimizer, AHandleThatWasMovedIsTheSameOptimizer) {
  const Context context;
  Model model;
  auto first = Optimizer::sgd(context, {.learning_rate = 0.5}, model.schema);
  Optimizer second = std::move(first);
  second.step(model.params, model.grads);
  EXPECT_EQ(second.step_count(), 1);
  EXPECT_THROW(first.step(model.params, model.grads), InvalidArgument);  // NOLINT(bugprone-use-after-move)
  static_assert(!std::is_copy_constructible_v<Optimizer>);
}

TEST(CppOptimizer, AHandleInUseByAnotherThreadIsInvalidState) {
  const Context context;
  Model model;
  auto sgd = Optimizer::sgd(context, {.learning_rate = 1}, model.schema);
  std::atomic<bool> refused = false;
  sgd.set_value("learning_rate", [&](std::int64_t) {
    std::thread([&] {
      try {
        sgd.step(model.params, model.grads);
      } catch (const InvalidState&) {
        refused = true;
      }
    }).join();
    return 1.0;
  });
  sgd.step(model.params, model.grads);
  EXPECT_TRUE(refused);
  EXPECT_EQ(sgd.step_count(), 1);
}

}  // namespace
}  // namespace gradstep
