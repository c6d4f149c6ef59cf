// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Gradient scale, clipping, skipping: what stands between a gradient and its rule.
#include <cmath>
#include <limits>

#include "unit/optim/optimizer_fixture.h"
#include "unit/recorded_log.h"

namespace gradstep::test {
namespace {

gradstep_sgd_options plain_sgd() {
  auto o = default_options<gradstep_sgd_options>();
  o.learning_rate = 1;
  return o;
}

double norm_of(const Model<float>& model) {
  double squares = 0;
  for (const auto& grad : model.grads) {
    for (const float g : grad.values) squares += static_cast<double>(g) * g;
  }
  return std::sqrt(squares);
}

TEST(StepGuards, GlobalNormClippingScalesEveryGradientByOneCoefficient) {
  auto optimizer = make_optimizer(plain_sgd());
  Model<float> model;
  model.draw_gradients(3);
  const auto before = model.params;
  StepGuards guards;
  guards.max_norm = 1;
  guards.grad_scale = 0.5;
  const StepOutcome outcome = model.step(*optimizer, guards);
  EXPECT_TRUE(outcome.applied);
  EXPECT_NEAR(outcome.grad_norm, norm_of(model), 1e-12 * outcome.grad_norm);  // two orders of the same f64 sum
  EXPECT_DOUBLE_EQ(outcome.clip_coefficient, 1 / (0.5 * outcome.grad_norm + 1e-6));
  const auto factor = static_cast<float>(0.5 * outcome.clip_coefficient);
  for (std::size_t k = 0; k < before.size(); ++k) {
    for (std::size_t i = 0; i < before[k].values.size(); ++i) {
      EXPECT_EQ(model.params[k].values[i], before[k].values[i] - factor * model.grads[k].values[i]);
    }
  }
}

/// Squares of these leave the range of f64, the norm does not.
TEST(StepGuards, NormsOfDoublesAreRightUpToTheEndsOfTheirRange) {
  for (const double size : {1e200, 1e-200, 1e307, 1e-320}) {
    auto optimizer = make_optimizer(plain_sgd(), DType::f64);
    Model<double> model;
    for (auto& grad : model.grads) grad.values.assign(grad.values.size(), 0);
    for (std::size_t i = 0; i < 4; ++i) model.grads[1].values[i] = size;
    for (auto& param : model.params) param.values.assign(param.values.size(), 0);
    StepGuards guards;
    guards.max_norm = size;
    guards.skip_nonfinite = true;
    guards.grad_scale = size > 1 ? 1e50 : 1;  // its product with the norm may be beyond f64
    const StepOutcome outcome = model.step(*optimizer, guards);
    EXPECT_TRUE(outcome.applied) << size;
    EXPECT_NEAR(outcome.grad_norm / (2 * size), 1, 1e-3) << size;
    if (size > 1) {
      EXPECT_NEAR(model.params[1].values[0] / (-size / 2), 1, 1e-12) << "clipped, and not to nothing";
    }
  }
}

TEST(StepGuards, ANormBelowTheLimitClipsNothing) {
  auto optimizer = make_optimizer(plain_sgd());
  Model<float> model;
  model.draw_gradients(3);
  StepGuards guards;
  guards.max_norm = 1e6;
  EXPECT_EQ(model.step(*optimizer, guards).clip_coefficient, 1);
}

TEST(StepGuards, AGivenNormIsUsedInsteadOfAPassOverTheGradients) {
  auto optimizer = make_optimizer(plain_sgd());
  Model<float> model;
  model.draw_gradients(3);
  const double given = 10;
  StepGuards guards;
  guards.max_norm = 1;
  guards.norm = &given;
  const StepOutcome outcome = model.step(*optimizer, guards);
  EXPECT_EQ(outcome.grad_norm, 10);
  EXPECT_DOUBLE_EQ(outcome.clip_coefficient, 1 / (10 + 1e-6));
}

TEST(StepGuards, ValuesAreClampedAfterScaling) {
  auto optimizer = make_optimizer(plain_sgd());
  Model<float> model;
  model.grads[0].values.assign(model.grads[0].values.size(), 3);
  model.grads[1].values.assign(model.grads[1].values.size(), -0.25F);
  const auto before = model.params;
  StepGuards guards;
  guards.grad_scale = 2;
  guards.clip_value = 1;
  model.step(*optimizer, guards);
  EXPECT_EQ(model.params[0].values[4], before[0].values[4] - 1);
  EXPECT_EQ(model.params[1].values[4], before[1].values[4] + 0.5F);
}

TEST(StepGuards, ASkippedStepChangesNothingButItsCounter) {
  auto o = default_options<gradstep_adam_options>();
  o.learning_rate = 0.1;
  auto optimizer = make_optimizer(o);
  Model<float> model;
  model.draw_gradients(1);
  model.step(*optimizer);
  const auto params = model.params;
  const auto* m = static_cast<const float*>(optimizer->state().view(1, "exp_avg").data);
  const float first_moment = m[7];
  model.grads[1].values[999] = std::numeric_limits<float>::infinity();
  float found_inf = 0;
  StepGuards guards;
  guards.found_inf = &found_inf;
  const StepOutcome outcome = model.step(*optimizer, guards);
  EXPECT_FALSE(outcome.applied);
  EXPECT_TRUE(std::isinf(outcome.grad_norm));
  EXPECT_EQ(found_inf, 1);
  EXPECT_EQ(model.params[1].values, params[1].values);
  EXPECT_EQ(m[7], first_moment);
  EXPECT_EQ(optimizer->step_count(), 1);
  EXPECT_EQ(optimizer->skipped_steps(), 1);
}

TEST(StepGuards, TheHostsFoundInfSkipsFiniteGradientsAndStaysSet) {
  auto optimizer = make_optimizer(plain_sgd());
  Model<float> model;
  model.draw_gradients(1);
  float found_inf = 1;
  StepGuards guards;
  guards.found_inf = &found_inf;
  EXPECT_FALSE(model.step(*optimizer, guards).applied);
  EXPECT_EQ(found_inf, 1);
}

TEST(StepGuards, SkippedUpdatesAreZero) {
  auto optimizer = make_optimizer(plain_sgd());
  Model<float> model;
  model.draw_gradients(1);
  model.grads[0].values[0] = NAN;
  model.updates[1].values.assign(1000, 5);
  StepGuards guards;
  guards.skip_nonfinite = true;
  EXPECT_FALSE(model.update(*optimizer, guards).applied);
  EXPECT_EQ(model.updates[1].values, std::vector<float>(1000, 0));
}

TEST(StepGuards, WithoutGuardsNonFiniteGradientsGoThrough) {
  auto optimizer = make_optimizer(plain_sgd());
  Model<float> model;
  model.draw_gradients(1);
  model.grads[0].values[0] = NAN;
  const StepOutcome outcome = model.step(*optimizer);
  EXPECT_TRUE(outcome.applied);
  EXPECT_TRUE(std::isnan(outcome.grad_norm)) << "nothing asked for the norm";
  EXPECT_TRUE(std::isnan(model.params[0].values[0]));
}

TEST(StepGuards, UpdatesAreExactlyWhatAStepWouldAdd) {
  auto o = default_options<gradstep_adam_options>();
  o.learning_rate = 0.1;
  o.weight_decay = 0.1;
  o.decoupled_weight_decay = 1;
  auto a = make_optimizer(o);
  auto b = make_optimizer(o);
  Model<float> stepped;
  Model<float> updated;
  for (std::uint32_t t = 0; t < 5; ++t) {
    stepped.draw_gradients(t);
    updated.draw_gradients(t);
    stepped.step(*a);
    const auto before = updated.params;
    updated.update(*b);
    EXPECT_EQ(updated.params[1].values, before[1].values);
    for (std::size_t k = 0; k < before.size(); ++k) {
      for (std::size_t i = 0; i < before[k].values.size(); ++i) {
        updated.params[k].values[i] += updated.updates[k].values[i];
      }
      EXPECT_EQ(updated.params[k].values, stepped.params[k].values);
    }
  }
}

TEST(StepGuards, IllegalOptionsAreNamed) {
  StepGuards guards;
  guards.grad_scale = NAN;
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "options.grad_scale", [&] { check_guards(guards); });
  guards = {};
  guards.max_norm = -1;
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "options.max_norm", [&] { check_guards(guards); });
  guards = {};
  guards.clip_value = INFINITY;
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "options.clip_value", [&] { check_guards(guards); });
}

TEST(StepGuards, SkippedStepsAreInTheLog) {
  RecordedLog records;
  auto options = default_options<gradstep_sgd_options>();
  options.learning_rate = 0.1;
  FirstOrderOptimizer optimizer(records.context(), make_rule(options), make_schema(kShapes));
  Model<float> model;
  model.draw_gradients(1);
  StepGuards guards;
  guards.skip_nonfinite = true;
  EXPECT_TRUE(model.step(optimizer, guards).applied);
  EXPECT_EQ(records.count(GRADSTEP_LOG_WARNING, ""), 0);
  model.grads[0].values[0] = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(model.step(optimizer, guards).applied);
  EXPECT_EQ(records.count(GRADSTEP_LOG_WARNING, "optimizer sgd: step 2 was skipped: the norm of its gradients is inf"),
            1);
  float found_inf = 1;
  guards.found_inf = &found_inf;
  guards.skip_nonfinite = false;
  EXPECT_FALSE(model.step(optimizer, guards).applied);
  EXPECT_EQ(records.count(GRADSTEP_LOG_WARNING, "optimizer sgd: step 2 was skipped: found_inf is set"), 1);
}

}  // namespace
}  // namespace gradstep::test
