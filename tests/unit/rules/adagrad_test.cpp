// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "rules/adagrad.h"

#include "unit/optim/optimizer_fixture.h"

namespace gradstep::test {
namespace {

gradstep_adagrad_options options() {
  auto o = default_options<gradstep_adagrad_options>();
  o.learning_rate = 0.1;
  o.epsilon = 1e-2;
  return o;
}

/// The state starts at initial_accumulator, which the fixture's reference states (zero) get added.
ReferenceRule reference(const gradstep_adagrad_options& o) {
  return [o](double p, double g, double* s, std::int64_t t) {
    if (o.maximize != 0) g = -g;
    g += o.weight_decay * p;
    s[0] += g * g;
    const double sum = s[0] + o.initial_accumulator;
    const bool inside = o.epsilon_placement == GRADSTEP_EPSILON_PLACEMENT_INSIDE;
    const double root = inside ? std::sqrt(sum + o.epsilon) : std::sqrt(sum) + o.epsilon;
    return p - o.learning_rate / (1 + static_cast<double>(t) * o.lr_decay) * g / root;
  };
}

TEST(AdaGrad, FollowsItsFormulaInEveryCombinationOfOptions) {
  for (const std::int32_t placement : {GRADSTEP_EPSILON_PLACEMENT_INSIDE, GRADSTEP_EPSILON_PLACEMENT_OUTSIDE}) {
    for (const double initial : {0.0, 0.5}) {
      for (const double lr_decay : {0.0, 0.05}) {
        for (const double weight_decay : {0.0, 0.1}) {
          auto o = options();
          o.epsilon_placement = placement;
          o.initial_accumulator = initial;
          o.lr_decay = lr_decay;
          o.weight_decay = weight_decay;
          o.maximize = initial > 0 ? 1 : 0;
          auto narrow = make_optimizer(o);
          EXPECT_LT(run_beside<float>(*narrow, reference(o)), kTolerance32);
          auto wide = make_optimizer(o, DType::f64);
          EXPECT_LT(run_beside<double>(*wide, reference(o)), kTolerance64);
        }
      }
    }
  }
}

TEST(AdaGrad, TheAccumulatorStartsWhereItIsToldToInEveryStorage) {
  for (const std::int32_t storage :
       {GRADSTEP_STATE_DTYPE_NATIVE, GRADSTEP_STATE_DTYPE_BF16, GRADSTEP_STATE_DTYPE_INT8}) {
    auto o = options();
    o.initial_accumulator = 0.25;
    o.state_dtype = storage;
    auto optimizer = make_optimizer(o);
    TestTensor<float> sum({1000});
    Array host;
    host.data = sum.values.data();
    host.size = 1000;
    optimizer->state().get(1, "sum", host);
    for (const float value : sum.values) ASSERT_EQ(value, 0.25F);
  }
}

TEST(AdaGrad, IllegalOptionsAreRefused) {
  for (const double initial : {-0.1, static_cast<double>(INFINITY), static_cast<double>(NAN)}) {
    auto o = options();
    o.initial_accumulator = initial;
    expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "options.initial_accumulator", [&] { make_optimizer(o); });
  }
  auto o = options();
  o.lr_decay = -1;
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "options.lr_decay", [&] { make_optimizer(o); });
  o = options();
  o.epsilon_placement = -1;
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "options.epsilon_placement", [&] { make_optimizer(o); });
}

}  // namespace
}  // namespace gradstep::test
