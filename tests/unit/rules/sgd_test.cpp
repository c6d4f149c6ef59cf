// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "rules/sgd.h"

#include "unit/optim/optimizer_fixture.h"

namespace gradstep::test {
namespace {

gradstep_sgd_options options(double momentum, double dampening, double weight_decay) {
  auto o = default_options<gradstep_sgd_options>();
  o.learning_rate = 0.1;
  o.momentum = momentum;
  o.dampening = dampening;
  o.weight_decay = weight_decay;
  return o;
}

ReferenceRule reference(const gradstep_sgd_options& o) {
  return [o](double p, double g, double* b, std::int64_t t) {
    if (o.maximize != 0) g = -g;
    g += o.weight_decay * p;
    if (o.momentum == 0) return p - o.learning_rate * g;
    const bool copies = o.first_step == GRADSTEP_SGD_FIRST_STEP_COPY && t == 0;
    b[0] = copies ? g : o.momentum * b[0] + (1 - o.dampening) * g;
    return p - o.learning_rate * (o.nesterov != 0 ? g + o.momentum * b[0] : b[0]);
  };
}

void check(const gradstep_sgd_options& o) {
  auto narrow = make_optimizer(o);
  EXPECT_LT(run_beside<float>(*narrow, reference(o)), kTolerance32);
  auto wide = make_optimizer(o, DType::f64);
  EXPECT_LT(run_beside<double>(*wide, reference(o)), kTolerance64);
}

TEST(Sgd, FollowsItsFormulaInEveryCombinationOfOptions) {
  for (const double momentum : {0.0, 0.9}) {
    for (const double dampening : {0.0, 0.3}) {
      for (const double weight_decay : {0.0, 0.01}) {
        for (const std::int32_t first : {GRADSTEP_SGD_FIRST_STEP_DAMPEN, GRADSTEP_SGD_FIRST_STEP_COPY}) {
          for (const std::int32_t maximize : {0, 1}) {
            auto o = options(momentum, dampening, weight_decay);
            o.first_step = first;
            o.maximize = maximize;
            check(o);
          }
        }
      }
    }
  }
}

TEST(Sgd, NesterovFollowsItsFormula) {
  for (const double weight_decay : {0.0, 0.01}) {
    auto o = options(0.9, 0, weight_decay);
    o.nesterov = 1;
    check(o);
  }
}

TEST(Sgd, NesterovNeedsMomentumWithoutDampeningAtCreationAndOnChange) {
  auto o = options(0, 0, 0);
  o.nesterov = 1;
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "nesterov", [&] { make_optimizer(o); });
  o = options(0.9, 0.1, 0);
  o.nesterov = 1;
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "dampening 0.1", [&] { make_optimizer(o); });
  o = options(0.9, 0, 0);
  o.nesterov = 1;
  auto optimizer = make_optimizer(o);
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "nesterov", [&] { optimizer->set_schedule(0, "momentum", Schedule(0)); });
  EXPECT_EQ(optimizer->get_value(0, "momentum"), 0.9) << "a refused change changes nothing";
}

TEST(Sgd, AMissingGradientTouchesNeitherParameterNorBufferAndTimeGoesOn) {
  auto o = options(0.9, 0, 0.1);
  auto optimizer = make_optimizer(o);
  Model<float> model;
  model.draw_gradients(0);
  model.step(*optimizer);
  const auto before = model.params[0].values;
  const Array buffer = optimizer->state().view(0, "momentum_buffer");
  const auto* b = static_cast<const float*>(buffer.data);
  const std::vector<float> buffer_before(b, b + buffer.size);
  const auto p = Model<float>::tensors(model.params);
  auto g = Model<float>::tensors(model.grads);
  g[0].data = nullptr;
  host::step(*optimizer, p.data(), g.data(), nullptr, p.size());
  EXPECT_EQ(model.params[0].values, before);
  EXPECT_TRUE(std::equal(buffer_before.begin(), buffer_before.end(), b));
  EXPECT_EQ(optimizer->step_count(), 2);
}

TEST(Sgd, MomentumThatIsSwitchedOnLaterStartsAtZero) {
  auto optimizer = make_optimizer(options(0, 0, 0));
  expect_error(GRADSTEP_ERR_INVALID_STATE, "does not exist", [&] { optimizer->state().view(0, "momentum_buffer"); });
  optimizer->set_schedule(-1, "momentum", Schedule(0.5));
  const Array buffer = optimizer->state().view(1, "momentum_buffer");
  for (std::int64_t i = 0; i < buffer.size; ++i) EXPECT_EQ(static_cast<const float*>(buffer.data)[i], 0);
  Model<float> model;
  model.draw_gradients(0);
  model.step(*optimizer);
  EXPECT_NE(static_cast<const float*>(buffer.data)[0], 0);
  optimizer->set_schedule(-1, "momentum", Schedule(0));
  model.step(*optimizer);
  optimizer->set_schedule(-1, "momentum", Schedule(0.5));
  EXPECT_EQ(static_cast<const float*>(optimizer->state().view(1, "momentum_buffer").data)[0], 0);
}

TEST(Sgd, UnsetAndIllegalOptionsAreRefused) {
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "options.learning_rate: is not set",
               [] { make_optimizer(default_options<gradstep_sgd_options>()); });
  auto o = options(-0.1, 0, 0);
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "options.momentum: is -0.1", [&] { make_optimizer(o); });
  o = options(0, 0, -1);
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "options.weight_decay", [&] { make_optimizer(o); });
  o = options(0, INFINITY, 0);
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "options.dampening", [&] { make_optimizer(o); });
  o = options(0, 0, 0);
  o.first_step = 2;
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "options.first_step", [&] { make_optimizer(o); });
}

}  // namespace
}  // namespace gradstep::test
