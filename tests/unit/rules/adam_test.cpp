// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "rules/adam.h"

#include "unit/optim/optimizer_fixture.h"

namespace gradstep::test {
namespace {

gradstep_adam_options options() {
  auto o = default_options<gradstep_adam_options>();
  o.learning_rate = 0.01;
  return o;
}

ReferenceRule reference(const gradstep_adam_options& o) {
  return [o](double p, double g, double* s, std::int64_t t) {
    if (o.maximize != 0) g = -g;
    const bool decoupled = o.decoupled_weight_decay != 0;
    if (!decoupled) g += o.weight_decay * p;
    s[0] = o.beta1 * s[0] + (1 - o.beta1) * g;
    s[1] = o.beta2 * s[1] + (1 - o.beta2) * g * g;
    const double c1 = 1 - std::pow(o.beta1, static_cast<double>(t + 1));
    const double c2 = 1 - std::pow(o.beta2, static_cast<double>(t + 1));
    double second = s[1];
    if (o.amsgrad != 0) second = s[2] = std::max(s[2], s[1]);
    if (decoupled) p -= o.learning_rate * o.weight_decay * p;
    if (o.bias_correction == GRADSTEP_BIAS_CORRECTION_TF) {
      return p - o.learning_rate * std::sqrt(c2) / c1 * s[0] / (std::sqrt(second) + o.epsilon);
    }
    return p - o.learning_rate * (s[0] / c1) / (std::sqrt(second / c2) + o.epsilon);
  };
}

TEST(Adam, FollowsItsFormulaInEveryCombinationOfOptions) {
  for (const std::int32_t correction : {GRADSTEP_BIAS_CORRECTION_STANDARD, GRADSTEP_BIAS_CORRECTION_TF}) {
    for (const std::int32_t decoupled : {0, 1}) {
      for (const double weight_decay : {0.0, 0.1}) {
        for (const std::int32_t maximize : {0, 1}) {
          auto o = options();
          o.bias_correction = correction;
          o.decoupled_weight_decay = decoupled;
          o.weight_decay = weight_decay;
          o.maximize = maximize;
          o.amsgrad = maximize;
          o.beta2 = 0.5;     // so that the largest second moment is not always the last
          o.epsilon = 1e-3;  // large enough that the two corrections differ visibly
          auto narrow = make_optimizer(o);
          EXPECT_LT(run_beside<float>(*narrow, reference(o)), kTolerance32);
          auto wide = make_optimizer(o, DType::f64);
          EXPECT_LT(run_beside<double>(*wide, reference(o)), kTolerance64);
        }
      }
    }
  }
}

TEST(Adam, ScheduledHyperParametersEnterWithTheirValueAtTheStep) {
  auto o = options();
  auto optimizer = make_optimizer(o, DType::f64);
  gradstep_schedule s{};
  s.struct_size = sizeof s;
  s.kind = GRADSTEP_SCHEDULE_EXPONENTIAL_DECAY;
  s.init_value = 0.9;
  s.decay_rate = 0.9;
  s.decay_steps = 5;
  optimizer->set_schedule(-1, "beta1", Schedule("s", &s));
  s.init_value = 1e-2;
  optimizer->set_schedule(-1, "epsilon", Schedule("s", &s));
  const ReferenceRule rule = [&](double p, double g, double* state, std::int64_t t) {
    auto now = o;
    now.beta1 = 0.9 * std::pow(0.9, static_cast<double>(t) / 5);
    now.epsilon = 1e-2 * std::pow(0.9, static_cast<double>(t) / 5);
    return reference(now)(p, g, state, t);
  };
  EXPECT_LT(run_beside<double>(*optimizer, rule), kTolerance64);
}

TEST(Adam, AScheduleThatLeavesItsRangeStopsTheStepBeforeAnythingChanges) {
  auto optimizer = make_optimizer(options());
  const std::int64_t boundaries[] = {0};
  const double values[] = {0.9, 1.5};
  gradstep_schedule s{};
  s.struct_size = sizeof s;
  s.kind = GRADSTEP_SCHEDULE_PIECEWISE;
  s.boundaries = boundaries;
  s.values = values;
  s.n_points = 2;
  optimizer->set_schedule(-1, "beta2", Schedule("s", &s));
  Model<float> model;
  model.draw_gradients(0);
  model.step(*optimizer);
  const auto before = model.params[1].values;
  expect_error(GRADSTEP_ERR_NUMERIC, "beta2 of group 0 at step 1: is 1.5", [&] { model.step(*optimizer); });
  EXPECT_EQ(model.params[1].values, before);
  EXPECT_EQ(optimizer->step_count(), 1);
}

TEST(Adam, IllegalOptionsAreRefused) {
  for (const double beta : {-0.1, 1.0, static_cast<double>(NAN)}) {
    auto o = options();
    o.beta1 = beta;
    expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "options.beta1", [&] { make_optimizer(o); });
  }
  auto o = options();
  o.epsilon = -1e-8;
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "options.epsilon", [&] { make_optimizer(o); });
  o = options();
  o.bias_correction = 2;
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "options.bias_correction", [&] { make_optimizer(o); });
}

}  // namespace
}  // namespace gradstep::test
