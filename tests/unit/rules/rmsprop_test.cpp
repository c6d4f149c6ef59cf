// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "rules/rmsprop.h"

#include "unit/optim/optimizer_fixture.h"

namespace gradstep::test {
namespace {

gradstep_rmsprop_options options() {
  auto o = default_options<gradstep_rmsprop_options>();
  o.learning_rate = 0.01;
  o.epsilon = 1e-2;  // large enough that its two places differ visibly
  return o;
}

ReferenceRule reference(const gradstep_rmsprop_options& o) {
  return [o](double p, double g, double* s, std::int64_t) {
    if (o.maximize != 0) g = -g;
    g += o.weight_decay * p;
    s[0] = o.rho * s[0] + (1 - o.rho) * g * g;
    double variance = s[0];
    if (o.centered != 0) {
      s[1] = o.rho * s[1] + (1 - o.rho) * g;
      variance -= s[1] * s[1];
    }
    const bool inside = o.epsilon_placement == GRADSTEP_EPSILON_PLACEMENT_INSIDE;
    double d = inside ? g / std::sqrt(variance + o.epsilon) : g / (std::sqrt(variance) + o.epsilon);
    if (o.momentum > 0) d = s[2] = o.momentum * s[2] + d;
    return p - o.learning_rate * d;
  };
}

TEST(RmsProp, FollowsItsFormulaInEveryCombinationOfOptions) {
  for (const std::int32_t placement : {GRADSTEP_EPSILON_PLACEMENT_INSIDE, GRADSTEP_EPSILON_PLACEMENT_OUTSIDE}) {
    for (const std::int32_t centered : {0, 1}) {
      for (const double momentum : {0.0, 0.8}) {
        for (const double weight_decay : {0.0, 0.1}) {
          auto o = options();
          o.epsilon_placement = placement;
          o.centered = centered;
          o.momentum = momentum;
          o.weight_decay = weight_decay;
          o.maximize = centered;
          auto narrow = make_optimizer(o);
          EXPECT_LT(run_beside<float>(*narrow, reference(o)), kTolerance32);
          auto wide = make_optimizer(o, DType::f64);
          EXPECT_LT(run_beside<double>(*wide, reference(o)), kTolerance64);
        }
      }
    }
  }
}

TEST(RmsProp, StatesAreThoseThatTheOptionsNeed) {
  auto o = options();
  auto plain = make_optimizer(o);
  EXPECT_EQ(plain->state().stored().size(), 2U);
  expect_error(GRADSTEP_ERR_INVALID_STATE, "grad_avg", [&] { plain->state().view(0, "grad_avg"); });
  o.centered = 1;
  o.momentum = 0.5;
  auto full = make_optimizer(o);
  EXPECT_EQ(full->state().stored().size(), 6U);
  EXPECT_EQ(full->state().view(1, "grad_avg").size, 1000);
  full->set_schedule(-1, "momentum", Schedule(0.0));
  EXPECT_EQ(full->state().stored().size(), 4U);
}

TEST(RmsProp, IllegalOptionsAreRefused) {
  for (const double rho : {-0.1, 1.0, static_cast<double>(NAN)}) {
    auto o = options();
    o.rho = rho;
    expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "options.rho", [&] { make_optimizer(o); });
  }
  auto o = options();
  o.epsilon = -1;
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "options.epsilon", [&] { make_optimizer(o); });
  o = options();
  o.momentum = -0.5;
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "options.momentum", [&] { make_optimizer(o); });
  o = options();
  o.epsilon_placement = 2;
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "options.epsilon_placement", [&] { make_optimizer(o); });
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "learning_rate",
               [&] { make_optimizer(default_options<gradstep_rmsprop_options>()); });
}

}  // namespace
}  // namespace gradstep::test
