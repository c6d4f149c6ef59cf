// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Option average_decay: an average of the weights over the steps.
#include "optim/first_order/named_options.h"
#include "unit/optim/optimizer_fixture.h"

namespace gradstep::test {
namespace {

constexpr double kDecay = 0.75;

Rule averaging(std::initializer_list<gradstep_option> more = {}) {
  std::vector<gradstep_option> options = {{"learning_rate", 0.1, nullptr}, {"average_decay", kDecay, nullptr}};
  options.insert(options.end(), more);
  return make_rule(find_rule("adam"), options);
}

std::vector<float> average_of(Optimizer& optimizer, std::size_t index, std::size_t size) {
  std::vector<float> average(size);
  optimizer.state().get(index, "average", compact_array(average.data(), static_cast<std::int64_t>(size), DType::f32));
  return average;
}

TEST(WeightAverage, IsTheFirstStepsParametersAndThenTheirAverage) {
  FirstOrderOptimizer optimizer(make_context(), averaging(), make_schema(kShapes));
  Model<float> model;
  std::vector<std::vector<float>> expected(kShapes.size());
  for (std::uint32_t t = 0; t < 5; ++t) {
    model.draw_gradients(t);
    model.step(optimizer);
    for (std::size_t i = 0; i < kShapes.size(); ++i) {
      const std::vector<float>& p = model.params[i].values;
      if (t == 0) expected[i] = p;
      for (std::size_t k = 0; k < p.size() && t > 0; ++k) {
        expected[i][k] = static_cast<float>(kDecay) * expected[i][k] + static_cast<float>(1 - kDecay) * p[k];
      }
      EXPECT_EQ(average_of(optimizer, i, p.size()), expected[i]) << t;
    }
  }
}

TEST(WeightAverage, ASkippedStepLeavesItAlone) {
  FirstOrderOptimizer optimizer(make_context(), averaging(), make_schema(kShapes));
  Model<float> model;
  model.draw_gradients(0);
  model.step(optimizer);
  const std::vector<float> before = average_of(optimizer, 0, 35);
  model.params[0].values.assign(35, 7.0F);  // by the host
  model.grads[0].values[0] = std::numeric_limits<float>::infinity();
  StepGuards guards;
  guards.skip_nonfinite = true;
  EXPECT_FALSE(model.step(optimizer, guards).applied);
  EXPECT_EQ(average_of(optimizer, 0, 35), before);
}

TEST(WeightAverage, IsOfMasterWeightsWhereThereAreSome) {
  const std::vector<std::int64_t> shape = {1000};
  FirstOrderOptimizer narrow(make_context(), averaging({{"master_weights", 1, nullptr}}),
                             make_schema({shape}, DType::bf16));
  FirstOrderOptimizer wide(make_context(), averaging(), make_schema({shape}));
  NarrowModel model(shape);
  for (std::uint32_t t = 0; t < 5; ++t) {
    model.step(narrow, t);
    model.step_twin(wide, t);
  }
  EXPECT_EQ(average_of(narrow, 0, 1000), average_of(wide, 0, 1000));
}

TEST(WeightAverage, NeedsStepsInPlace) {
  FirstOrderOptimizer optimizer(make_context(), averaging(), make_schema(kShapes));
  Model<float> model;
  model.draw_gradients(0);
  expect_error(GRADSTEP_ERR_UNSUPPORTED, "parameter 'p0' has an average, which only a step in place can follow",
               [&] { model.update(optimizer); });
}

TEST(WeightAverage, WithoutTheOptionThereIsNone) {
  const gradstep_option options[] = {{"learning_rate", 0.1, nullptr}};
  const Rule plain = make_rule(find_rule("adam"), options);
  FirstOrderOptimizer optimizer(make_context(), plain, make_schema(kShapes));
  expect_error(GRADSTEP_ERR_INVALID_STATE,
               "parameter 'p0' has no average: its rule has neither average_decay nor average_equal",
               [&] { optimizer.state().check_average(0); });
  EXPECT_EQ(FirstOrderOptimizer::state_bytes(averaging(), make_schema(kShapes)),
            FirstOrderOptimizer::state_bytes(plain, make_schema(kShapes)) + 1035 * 4 + 2 * 8);
}

}  // namespace
}  // namespace gradstep::test
