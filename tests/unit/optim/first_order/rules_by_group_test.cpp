// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// One optimizer with a rule for each group, beside one optimizer for each rule.
#include "gradstep/rule.h"
#include "optim/first_order/named_options.h"
#include "optim/saved_optimizer.h"
#include "unit/memory_stream.h"
#include "unit/optim/optimizer_fixture.h"

namespace gradstep::test {
namespace {

Rule lion(bool maximize = false) {
  const gradstep_option options[] = {{"learning_rate", 0.01, nullptr}, {"maximize", maximize ? 1.0 : 0.0, nullptr}};
  return make_rule(find_rule("lion"), options);
}

Rule adam_in_int8() {
  const gradstep_option options[] = {
      {"learning_rate", 0.1, nullptr}, {"state_dtype", 0, "int8"}, {"weight_decay", 0.1, nullptr}};
  return make_rule(find_rule("adam"), options);
}

FirstOrderOptimizer grouped() { return {make_context(), RulesByGroup({lion(), adam_in_int8()}), grouped_schema()}; }

/// Steps both parameters at once, and each alone with its rule.
struct Beside {
  Model<float> model;
  Model<float> alone;
  FirstOrderOptimizer first;
  FirstOrderOptimizer second;

  explicit Beside(const Rule& of_first = lion(), const Rule& of_second = adam_in_int8())
      : first(make_context(), of_first, make_schema({kShapes[0]})),
        second(make_context(), of_second, make_schema({kShapes[1]})) {}

  void step(Optimizer& optimizer, std::uint32_t t) {
    model.draw_gradients(t);
    model.step(optimizer);
    Optimizer* const single[] = {&first, &second};
    for (std::size_t i = 0; i < 2; ++i) {
      const gradstep_tensor param = alone.params[i].tensor();
      const gradstep_tensor grad = model.grads[i].tensor();
      host::step(*single[i], &param, &grad, nullptr, 1);
    }
  }
  void expect_equal() const {
    for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(model.params[i].values, alone.params[i].values) << i;
  }
};

TEST(RulesByGroup, EachGroupStepsByItsRule) {
  FirstOrderOptimizer optimizer = grouped();
  Beside beside;
  for (std::uint32_t t = 0; t < 10; ++t) beside.step(optimizer, t);
  beside.expect_equal();
  EXPECT_STREQ(optimizer.kind(), "lion+adam");
  std::vector<float> numbers(1000);
  optimizer.state().get(1, "exp_avg_sq", compact_array(numbers.data(), 1000, DType::f32));
  EXPECT_GT(numbers[0], 0);
  expect_error(GRADSTEP_ERR_INVALID_STATE, "'exp_avg_sq' of parameter 'param.0' does not exist",
               [&] { optimizer.state().view(0, "exp_avg_sq"); });
}

TEST(RulesByGroup, HyperParametersAreThoseOfTheGroup) {
  FirstOrderOptimizer optimizer = grouped();
  Beside beside;
  optimizer.set_schedule(-1, "learning_rate", Schedule(0.02));
  optimizer.set_schedule(-1, "epsilon", Schedule(1e-4));
  beside.first.set_schedule(-1, "learning_rate", Schedule(0.02));
  beside.second.set_schedule(-1, "learning_rate", Schedule(0.02));
  beside.second.set_schedule(-1, "epsilon", Schedule(1e-4));
  for (std::uint32_t t = 0; t < 5; ++t) beside.step(optimizer, t);
  beside.expect_equal();
  EXPECT_EQ(optimizer.get_value(0, "beta2"), 0.99);
  EXPECT_EQ(optimizer.get_value(1, "beta2"), 0.999);
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "'epsilon' is not a hyper-parameter of group 0",
               [&] { (void)optimizer.get_value(0, "epsilon"); });
}

TEST(RulesByGroup, TheStateOfAllIsOneFile) {
  FirstOrderOptimizer optimizer = grouped();
  Beside beside;
  for (std::uint32_t t = 0; t < 3; ++t) beside.step(optimizer, t);
  const StateFile file = read_bytes(saved_bytes("optimizer", {{"", save_optimizer(optimizer)}}));
  FirstOrderOptimizer resumed = grouped();
  LoadedPart part(file, "");
  load_optimizer(part, resumed)();
  for (std::uint32_t t = 3; t < 6; ++t) beside.step(resumed, t);
  beside.expect_equal();
}

TEST(RulesByGroup, OneNormClipsAllGroups) {
  FirstOrderOptimizer optimizer = grouped();
  Model<float> model;
  model.draw_gradients(0);
  double squares = 0;
  for (const auto& grad : model.grads) {
    for (const float g : grad.values) squares += static_cast<double>(g) * static_cast<double>(g);
  }
  StepGuards guards;
  guards.max_norm = 1;
  EXPECT_NEAR(model.step(optimizer, guards).grad_norm, std::sqrt(squares), 1e-6 * std::sqrt(squares));
}

TEST(RulesByGroup, AGroupThatComesLaterHasItsRule) {
  const Schema whole = grouped_schema();
  std::vector<gradstep_parameter> parameters(2);
  for (std::size_t i = 0; i < 2; ++i) {
    parameters[i].struct_size = sizeof parameters[i];
    parameters[i].shape = whole[i].shape.data();
    parameters[i].ndim = static_cast<std::int32_t>(whole[i].shape.size());
    parameters[i].group = whole[i].group;
    parameters[i].dtype = to_dlpack(DType::f32);
    parameters[i].device = {GRADSTEP_DEVICE_CPU, 0};
  }
  FirstOrderOptimizer optimizer(make_context(), RulesByGroup({lion(), adam_in_int8()}), Schema(parameters.data(), 1));
  optimizer.add_parameters(&parameters[1], 1);
  Beside beside;
  for (std::uint32_t t = 0; t < 4; ++t) beside.step(optimizer, t);
  beside.expect_equal();
}

TEST(RulesByGroup, WhatDoesNotFitIsNamed) {
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT,
               "parameter 'param.1': its group is 2, and there are rules for groups 0 to 1",
               [] { FirstOrderOptimizer(make_context(), RulesByGroup({lion(), lion()}), grouped_schema(2)); });
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "groups[1]: maximize is 1, that of groups[0] is 0",
               [] { RulesByGroup({lion(), lion(true)}); });
}

TEST(RulesByGroup, ChangesOfOneGroupMayWaitForTheirTensor) {
  const gradstep_option options[] = {{"learning_rate", 0.01, nullptr}};
  for (const char* waiting : {"lamb", "muon"}) {
    const Rule rule = make_rule(find_rule(waiting), options);
    FirstOrderOptimizer optimizer(make_context(), RulesByGroup({rule, adam_in_int8()}), grouped_schema());
    Beside both(rule);
    for (std::uint32_t t = 0; t < 3; ++t) both.step(optimizer, t);
    both.expect_equal();
  }
}

}  // namespace
}  // namespace gradstep::test
