// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Option step_counting: the t of a parameter is that of the optimizer, or how many steps the parameter took part in.
#include "optim/first_order/named_options.h"
#include "optim/saved_optimizer.h"
#include "unit/memory_stream.h"
#include "unit/optim/optimizer_fixture.h"

namespace gradstep::test {
namespace {

Rule counting(const char* rule, const char* whose, double lr_decay = 0) {
  std::vector<gradstep_option> options = {{"learning_rate", 0.1, nullptr}, {"step_counting", 0, whose}};
  if (lr_decay > 0) options.push_back({"lr_decay", lr_decay, nullptr});
  return make_rule(find_rule(rule), options);
}

/// An optimizer of several parameters, and one of its own for each, which steps only with a gradient.
class StepCounting : public testing::TestWithParam<const char*> {
 protected:
  static Rule rule(const char* whose) {
    return counting(GetParam(), whose, std::string(GetParam()) == "adagrad" ? 0.5 : 0);
  }

  void step(FirstOrderOptimizer& optimizer, std::uint32_t t, bool second_has_gradient) {
    model_.draw_gradients(t);
    const auto params = Model<float>::tensors(model_.params);
    auto grads = Model<float>::tensors(model_.grads);
    if (!second_has_gradient) grads[1].data = nullptr;
    host::step(optimizer, params.data(), grads.data(), nullptr, params.size());
    for (std::size_t i = 0; i < kShapes.size(); ++i) {
      if (i == 1 && !second_has_gradient) continue;
      const gradstep_tensor param = alone_.params[i].tensor();
      const gradstep_tensor grad = model_.grads[i].tensor();
      host::step(*single_[i], &param, &grad, nullptr, 1);
    }
  }

  Model<float> model_;
  Model<float> alone_;
  std::vector<std::unique_ptr<FirstOrderOptimizer>> single_ = [] {
    std::vector<std::unique_ptr<FirstOrderOptimizer>> list;
    for (const auto& shape : kShapes) {
      list.push_back(std::make_unique<FirstOrderOptimizer>(make_context(), rule("optimizer"), make_schema({shape})));
    }
    return list;
  }();
};

TEST_P(StepCounting, EachParameterStepsAsIfItWereAlone) {
  FirstOrderOptimizer optimizer(make_context(), rule("parameter"), make_schema(kShapes));
  for (std::uint32_t t = 0; t < 12; ++t) step(optimizer, t, /*second_has_gradient=*/t >= 5 && t != 8);
  for (std::size_t i = 0; i < kShapes.size(); ++i) EXPECT_EQ(model_.params[i].values, alone_.params[i].values) << i;
  double steps = 0;
  optimizer.state().get(1, "step", compact_array(&steps, 1, DType::f64));
  EXPECT_EQ(steps, 6);
  EXPECT_EQ(optimizer.step_count(), 12);
  EXPECT_EQ(optimizer.state().shape(1, "step").size(), 1U);
}

TEST_P(StepCounting, ByDefaultALateParameterHasTheOptimizersT) {
  FirstOrderOptimizer optimizer(make_context(), rule("optimizer"), make_schema(kShapes));
  for (std::uint32_t t = 0; t < 6; ++t) step(optimizer, t, /*second_has_gradient=*/t >= 5);
  EXPECT_EQ(model_.params[0].values, alone_.params[0].values);
  EXPECT_NE(model_.params[1].values, alone_.params[1].values);
  double steps = 0;
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "'step' is not a state of",
               [&] { optimizer.state().get(1, "step", compact_array(&steps, 1, DType::f64)); });
}

TEST_P(StepCounting, CountsAreSavedAndCopied) {
  FirstOrderOptimizer first(make_context(), rule("parameter"), make_schema(kShapes));
  for (std::uint32_t t = 0; t < 7; ++t) step(first, t, /*second_has_gradient=*/t >= 5);
  FirstOrderOptimizer loaded(make_context(), rule("parameter"), make_schema(kShapes));
  const StateFile file = read_bytes(saved_bytes("optimizer", {{"", save_optimizer(first)}}));
  LoadedPart part(file, "");
  load_optimizer(part, loaded)();
  FirstOrderOptimizer copied(make_context(), rule("parameter"), make_schema(kShapes));
  copied.copy_state(loaded);
  for (std::uint32_t t = 7; t < 10; ++t) step(copied, t, /*second_has_gradient=*/true);
  for (std::size_t i = 0; i < kShapes.size(); ++i) EXPECT_EQ(model_.params[i].values, alone_.params[i].values) << i;
}

TEST_P(StepCounting, ACountFromOutsideIsThatOfEveryParameter) {
  FirstOrderOptimizer optimizer(make_context(), rule("parameter"), make_schema(kShapes));
  optimizer.set_step_count(3);
  for (auto& one : single_) one->set_step_count(3);
  for (std::uint32_t t = 0; t < 4; ++t) step(optimizer, t, /*second_has_gradient=*/t >= 2);
  for (std::size_t i = 0; i < kShapes.size(); ++i) EXPECT_EQ(model_.params[i].values, alone_.params[i].values) << i;
}

INSTANTIATE_TEST_SUITE_P(Rules, StepCounting, testing::Values("adam", "adagrad"),
                         [](const auto& each) { return std::string(each.param); });

TEST(StepCountingOption, HasTheTwoWordsAlone) {
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "is 'tensor', expected one of optimizer, parameter",
               [] { counting("adam", "tensor"); });
}

}  // namespace
}  // namespace gradstep::test
