// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Rules whose constants follow from sums over tensors or from numbers that they keep. (Recorded numbers of other
// systems: tests/conformance/rules. Ranks and devices: tests/bits.)
#include <limits>

#include "optim/first_order/named_options.h"
#include "unit/optim/optimizer_fixture.h"

namespace gradstep::test {
namespace {

Rule named(const char* rule, std::initializer_list<gradstep_option> more = {}) {
  const RuleType& type = find_rule(rule);
  std::vector<gradstep_option> options;
  options.push_back({"learning_rate", type.scope == rules::Scope::rule ? 1 : 0.1, nullptr});  // beside a distance: 1
  options.insert(options.end(), more);
  return make_rule(type, options);
}

double number_of(Optimizer& optimizer, std::size_t index, const char* name) {
  double number = 0;
  optimizer.state().get(index, name, compact_array(&number, 1, DType::f64));
  return number;
}

double squares_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double x : values) sum += x * x;
  return sum;
}

TEST(SumsPhase, ATensorsSumIsOfItAlone) {
  FirstOrderOptimizer optimizer(make_context(), named("novograd"), make_schema(kShapes, DType::f64));
  Model<double> model;
  std::vector<double> expected(kShapes.size());
  for (std::uint32_t t = 0; t < 3; ++t) {
    model.draw_gradients(t);
    model.step(optimizer);
    for (std::size_t i = 0; i < kShapes.size(); ++i) {
      const double squares = squares_of(model.grads[i].values);
      expected[i] = t == 0 ? squares : 0.25 * expected[i] + 0.75 * squares;
      EXPECT_NEAR(number_of(optimizer, i, "squared_norm"), expected[i], 1e-13 * expected[i]) << t;
    }
  }
}

TEST(SumsPhase, ARulesSumIsOfAllThatItSteps) {
  FirstOrderOptimizer together(make_context(), named("prodigy"), make_schema(kShapes, DType::f64));
  Model<double> model;
  model.draw_gradients(0);  // and so in each step: d grows
  for (int t = 0; t < 4; ++t) {
    model.step(together);
    EXPECT_EQ(number_of(together, 0, "d"), number_of(together, 1, "d"));
  }
  FirstOrderOptimizer alone(make_context(), named("prodigy"), make_schema({kShapes[0]}, DType::f64));
  Model<double> other;
  other.draw_gradients(0);
  for (int t = 0; t < 4; ++t) {
    const gradstep_tensor p = other.params[0].tensor();
    const gradstep_tensor g = other.grads[0].tensor();
    host::step(alone, &p, &g, nullptr, 1);
  }
  EXPECT_GT(number_of(alone, 0, "d"), 1e-6);
  EXPECT_NE(number_of(alone, 0, "d"), number_of(together, 0, "d"));
}

TEST(SumsPhase, GroupsOfOneRuleShareItsNumberAndOtherRulesDoNot) {
  const Schema schema = grouped_schema(1, DType::f64);
  const RulesByGroup both({named("prodigy"), named("prodigy")});
  FirstOrderOptimizer grouped(make_context(), both, schema);
  FirstOrderOptimizer plain(make_context(), named("prodigy"), make_schema(kShapes, DType::f64));
  const RulesByGroup mixed({named("sgd"), named("prodigy")});
  FirstOrderOptimizer beside(make_context(), mixed, schema);
  Model<double> of_grouped;
  Model<double> of_plain;
  Model<double> of_beside;
  for (auto* model : {&of_grouped, &of_plain, &of_beside}) model->draw_gradients(0);
  for (int t = 0; t < 4; ++t) {
    of_grouped.step(grouped);
    of_plain.step(plain);
    of_beside.step(beside);
    EXPECT_EQ(number_of(grouped, 0, "d"), number_of(plain, 0, "d"));
  }
  EXPECT_EQ(of_grouped.params[0].values, of_plain.params[0].values);
  EXPECT_NE(number_of(beside, 1, "d"), number_of(plain, 1, "d"));
}

TEST(SumsPhase, ASkippedStepLeavesNumbersAlone) {
  for (const char* rule : {"novograd", "prodigy", "dadapt_adam", "schedule_free", "asgd"}) {
    FirstOrderOptimizer optimizer(make_context(), named(rule), make_schema(kShapes));
    const char* name = find_rule(rule).about.numbers[0].name;
    Model<float> model;
    model.draw_gradients(0);
    model.step(optimizer);
    const double before = number_of(optimizer, 0, name);
    const std::vector<float> params = model.params[0].values;
    model.draw_gradients(1);
    model.grads[0].values[0] = std::numeric_limits<float>::infinity();
    StepGuards guards;
    guards.skip_nonfinite = true;
    EXPECT_FALSE(model.step(optimizer, guards).applied) << rule;
    EXPECT_EQ(number_of(optimizer, 0, name), before) << rule;
    EXPECT_EQ(model.params[0].values, params) << rule;
  }
}

TEST(SumsPhase, WithoutAGradientATensorsNumberStays) {
  FirstOrderOptimizer optimizer(make_context(), named("novograd"), make_schema(kShapes));
  Model<float> model;
  model.draw_gradients(0);
  model.step(optimizer);
  const double before = number_of(optimizer, 0, "squared_norm");
  model.draw_gradients(1);
  const auto p = Model<float>::tensors(model.params);
  auto g = Model<float>::tensors(model.grads);
  g[0].data = nullptr;
  host::step(optimizer, p.data(), g.data(), nullptr, p.size());
  EXPECT_EQ(number_of(optimizer, 0, "squared_norm"), before);
}

TEST(SumsPhase, ClippingAndScalesAreThoseOfTheUpdate) {
  FirstOrderOptimizer optimizer(make_context(), named("novograd"), make_schema(kShapes, DType::f64));
  Model<double> model;
  model.draw_gradients(0);
  StepGuards guards;
  guards.grad_scale = 0.5;
  guards.clip_value = 0.1;
  std::vector<double> seen = model.grads[1].values;
  for (double& g : seen) g = std::clamp(0.5 * g, -0.1, 0.1);
  model.step(optimizer, guards);
  EXPECT_NEAR(number_of(optimizer, 1, "squared_norm"), squares_of(seen), 1e-13 * squares_of(seen));
}

TEST(SumsPhase, AStepWhoseSumsAreZeroDoesNotCount) {
  for (const char* rule : {"prodigy", "dadapt_adam"}) {
    FirstOrderOptimizer optimizer(make_context(), named(rule), make_schema(kShapes));
    Model<float> model;
    for (auto& grad : model.grads) grad.values.assign(grad.values.size(), 0.0F);
    const std::vector<float> before = model.params[0].values;
    model.step(optimizer);
    EXPECT_EQ(model.params[0].values, before) << rule;
    EXPECT_EQ(number_of(optimizer, 0, "d_steps"), 0) << rule;
    model.draw_gradients(1);
    model.step(optimizer);
    EXPECT_EQ(number_of(optimizer, 0, "d_steps"), 1) << rule;
  }
}

TEST(SumsPhase, ExactStatesAreNotNarrowed) {
  const gradstep_option narrow = {"state_dtype", 0, "bf16"};
  FirstOrderOptimizer optimizer(make_context(), named("prodigy", {narrow}), make_schema(kShapes));
  Model<float> model;
  const std::vector<float> start = model.params[1].values;
  model.draw_gradients(0);
  model.step(optimizer);
  std::vector<float> p0(start.size());
  optimizer.state().get(1, "p0", compact_array(p0.data(), 1000, DType::f32));
  EXPECT_EQ(p0, start);
}

std::vector<double> average_of(FirstOrderOptimizer& optimizer, std::size_t index, const std::vector<double>& param) {
  std::vector<double> average = param;
  const OwnAverage& own = optimizer.own_average(index);
  optimizer.state().check_average(index, own);
  optimizer.state().get_average(index, own, optimizer.average_share(index),
                                compact_array(average.data(), std::ssize(average), DType::f64));
  return average;
}

/// Defazio et al. 2024, algorithm 1, with y, z and x written out.
TEST(OwnAverage, OfScheduleFreeIsItsX) {
  FirstOrderOptimizer optimizer(make_context(), named("schedule_free", {{"inner", 0, "sgd"}}),
                                make_schema(kShapes, DType::f64));
  Model<double> model;
  std::vector<double> x = model.params[0].values;
  std::vector<double> z = x;
  for (std::uint32_t t = 0; t < 5; ++t) {
    model.draw_gradients(t);
    model.step(optimizer);
    const double share = 1.0 / (t + 1);
    for (std::size_t k = 0; k < x.size(); ++k) {
      z[k] -= 0.1 * model.grads[0].values[k];
      x[k] = (1 - share) * x[k] + share * z[k];
      EXPECT_NEAR(model.params[0].values[k], 0.1 * z[k] + 0.9 * x[k], 1e-14) << t;
    }
    const std::vector<double> average = average_of(optimizer, 0, model.params[0].values);
    for (std::size_t k = 0; k < x.size(); ++k) EXPECT_NEAR(average[k], x[k], 1e-14) << t;
  }
}

TEST(OwnAverage, OfAsgdIsTheMeanOfItsParameters) {
  FirstOrderOptimizer optimizer(make_context(), named("asgd", {{"averaging_start", 1, nullptr}}),
                                make_schema(kShapes, DType::f64));
  Model<double> model;
  std::vector<double> sum(35);
  for (std::uint32_t t = 0; t < 6; ++t) {
    model.draw_gradients(t);
    model.step(optimizer);
    for (std::size_t k = 0; k < sum.size() && t > 1; ++k) sum[k] += model.params[0].values[k];
  }
  const std::vector<double> average = average_of(optimizer, 0, model.params[0].values);
  for (std::size_t k = 0; k < sum.size(); ++k) EXPECT_NEAR(average[k], sum[k] / 4, 1e-14);
}

TEST(OwnAverage, NeedsAStepAndGoesWithNothingThatMovesTheParameter) {
  FirstOrderOptimizer optimizer(make_context(), named("schedule_free"), make_schema(kShapes, DType::f64));
  expect_error(GRADSTEP_ERR_INVALID_STATE, "parameter 'p0' has no average yet",
               [&] { average_of(optimizer, 0, std::vector<double>(35)); });
  for (const char* option : {"trust_ratio", "cautious_decay"}) {
    expect_error(GRADSTEP_ERR_UNSUPPORTED, option, [&] { named("schedule_free", {{option, 1, nullptr}}); });
  }
  expect_error(GRADSTEP_ERR_UNSUPPORTED, "decay_mode: asgd has an average of its own",
               [&] { named("asgd", {{"decay_mode", 0, "decoupled"}}); });
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "average_decay, average_equal: asgd has an average of its own",
               [&] { named("asgd", {{"average_decay", 0.5, nullptr}}); });
  expect_error(GRADSTEP_ERR_UNSUPPORTED, "step_counting: all parameters of prodigy share one number",
               [&] { named("prodigy", {{"step_counting", 0, "parameter"}}); });
}

}  // namespace
}  // namespace gradstep::test
