// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Options of storage and rounding, as an optimizer keeps them. (The arithmetic: tests/unit/cpu/stored_state_test.cpp.)
#include "optim/first_order/state_storage.h"

#include "unit/optim/optimizer_fixture.h"

namespace gradstep::test {
namespace {

gradstep_adam_options adam(std::int32_t state_dtype = GRADSTEP_STATE_DTYPE_NATIVE) {
  auto o = default_options<gradstep_adam_options>();
  o.learning_rate = 0.01;
  o.state_dtype = state_dtype;
  return o;
}

const std::vector<std::int64_t> kNarrow = {1000};

std::unique_ptr<FirstOrderOptimizer> narrow_optimizer(const gradstep_adam_options& o, int threads = 1) {
  return std::make_unique<FirstOrderOptimizer>(make_context(threads), make_rule(o),
                                               make_schema({kNarrow}, DType::bf16));
}

TEST(StateStorage, BytesHeldAreThoseForeseenAndThoseOfTheFormat) {
  const Schema schema = make_schema({kNarrow}, DType::bf16);
  const struct {
    std::int32_t format;
    std::int32_t master;
    std::int64_t bytes;
  } cases[] = {
      {GRADSTEP_STATE_DTYPE_NATIVE, 0, 8 * 1000},
      {GRADSTEP_STATE_DTYPE_NATIVE, 1, 12 * 1000},
      {GRADSTEP_STATE_DTYPE_BF16, 0, 4 * 1000},
      {GRADSTEP_STATE_DTYPE_INT8, 0, 2 * 1000 + 2 * 4 * 4},
      {GRADSTEP_STATE_DTYPE_INT8, 1, 6 * 1000 + 2 * 4 * 4},
  };
  for (const auto& c : cases) {
    auto o = adam(c.format);
    o.master_weights = c.master;
    auto optimizer = narrow_optimizer(o);
    EXPECT_EQ(bytes_held(*optimizer), c.bytes);
    EXPECT_EQ(FirstOrderOptimizer::state_bytes(make_rule(o), schema), c.bytes);
  }
}

TEST(StateStorage, MasterWeightsFollowTheF32Trajectory) {
  auto o = adam();
  o.master_weights = 1;
  auto with_master = narrow_optimizer(o);
  FirstOrderOptimizer wide(make_context(), make_rule(adam()), make_schema({kNarrow}));
  NarrowModel model(kNarrow);
  for (std::uint32_t t = 0; t < 20; ++t) {
    model.step(*with_master, t);
    model.step_twin(wide, t);
  }
  const Array master = with_master->state().view(0, "master_weights");
  EXPECT_EQ(std::vector<float>(static_cast<float*>(master.data), static_cast<float*>(master.data) + master.size),
            model.twin.values);
  EXPECT_EQ(bits_of(model.param.values), bits_of(to_bfloat16(model.twin.values)));
}

TEST(StateStorage, MasterWeightsGiveNoUpdates) {
  auto o = adam();
  o.master_weights = 1;
  auto optimizer = narrow_optimizer(o);
  NarrowModel model(kNarrow);
  TestTensor<kernels::BFloat16> update(kNarrow);
  const gradstep_tensor p = model.param.tensor();
  const gradstep_tensor g = model.grad.tensor();
  const gradstep_tensor u = update.tensor();
  expect_error(GRADSTEP_ERR_UNSUPPORTED, "p0", [&] { host::step(*optimizer, &p, &g, &u, 1); });
  // f32 parameters need no master, and are not in the way.
  auto wide = make_optimizer(o);
  Model<float> plain;
  plain.draw_gradients(1);
  EXPECT_TRUE(plain.update(*wide).applied);
  EXPECT_EQ(wide->state().stored().size(), 4U);
  expect_error(GRADSTEP_ERR_INVALID_STATE, "master_weights", [&] { wide->state().view(0, "master_weights"); });
}

TEST(StateStorage, NarrowStatesStayNearTheWideTrajectory) {
  // 20 steps of 0.01: an error of a percent in each (the coarsest code) moves a parameter by 2e-3.
  Model<float> reference;
  auto exact = make_optimizer(adam());
  for (std::uint32_t t = 0; t < 20; ++t) {
    reference.draw_gradients(t);
    reference.step(*exact);
  }
  for (const std::int32_t format : {GRADSTEP_STATE_DTYPE_BF16, GRADSTEP_STATE_DTYPE_INT8}) {
    auto optimizer = make_optimizer(adam(format));
    Model<float> model;
    for (std::uint32_t t = 0; t < 20; ++t) {
      model.draw_gradients(t);
      model.step(*optimizer);
    }
    double sum = 0;
    for (std::size_t i = 0; i < 1000; ++i) {
      sum += std::abs(static_cast<double>(model.params[1].values[i] - reference.params[1].values[i]));
    }
    EXPECT_LT(sum / 1000, 2e-3);
    EXPECT_GT(sum, 0) << "the state is not narrow at all";
  }
}

TEST(StateStorage, StatesAreReadAndWrittenInAnyStorage) {
  for (const std::int32_t format :
       {GRADSTEP_STATE_DTYPE_NATIVE, GRADSTEP_STATE_DTYPE_BF16, GRADSTEP_STATE_DTYPE_INT8}) {
    auto optimizer = make_optimizer(adam(format));
    TestTensor<double> in({1000});
    for (std::size_t i = 0; i < 1000; ++i) in.values[i] = i % 2 == 0 ? 1.0 : -0.5;
    TestTensor<double> out({1000});
    const auto array = [](TestTensor<double>& tensor) {
      Array host;
      host.data = tensor.values.data();
      host.size = 1000;
      host.dtype = DType::f64;
      return host;
    };
    optimizer->state().set(1, "exp_avg", array(in));
    optimizer->state().get(1, "exp_avg", array(out));
    // An octave below the largest of its block, -0.5 is known to one part in 32.
    for (std::size_t i = 0; i < 1000; ++i) ASSERT_NEAR(out.values[i], in.values[i], 0.5 / 32) << i;
    if (format == GRADSTEP_STATE_DTYPE_INT8) {
      expect_error(GRADSTEP_ERR_UNSUPPORTED, "get_state", [&] { optimizer->state().view(1, "exp_avg"); });
    } else {
      EXPECT_EQ(optimizer->state().view(1, "exp_avg").dtype,
                format == GRADSTEP_STATE_DTYPE_BF16 ? DType::bf16 : DType::f32);
    }
  }
}

TEST(StateStorage, StochasticRoundingRepeatsBySeedAndDoesNotDependOnThreads) {
  const auto run = [](std::int64_t seed, int threads) {
    auto o = adam(GRADSTEP_STATE_DTYPE_BF16);
    o.stochastic_rounding = 1;
    o.seed = seed;
    auto optimizer = narrow_optimizer(o, threads);
    NarrowModel model(kNarrow);
    for (std::uint32_t t = 0; t < 5; ++t) model.step(*optimizer, t);
    return bits_of(model.param.values);
  };
  EXPECT_EQ(run(1, 1), run(1, 7));
  EXPECT_NE(run(1, 1), run(2, 1));
}

// Without it, steps that are smaller than half the distance of neighbours change nothing at all.
TEST(StateStorage, StochasticRoundingLetsSmallStepsMoveNarrowParameters) {
  const auto moved = [](bool stochastic) {
    auto o = default_options<gradstep_sgd_options>();
    o.learning_rate = 1;
    o.stochastic_rounding = stochastic ? 1 : 0;
    FirstOrderOptimizer optimizer(make_context(), make_rule(o), make_schema({kNarrow}, DType::bf16));
    TestTensor<kernels::BFloat16> param(kNarrow, kernels::to_bfloat16(1.0F));
    TestTensor<float> grad(kNarrow, 0x1p-12F);  // an eighth of half the distance below 1
    const gradstep_tensor p = param.tensor();
    const gradstep_tensor g = grad.tensor();
    for (int t = 0; t < 100; ++t) {
      host::step(optimizer, &p, &g, nullptr, 1);
    }
    double sum = 0;
    for (const float value : widen(param.values)) sum += 1 - static_cast<double>(value);
    return sum / static_cast<double>(param.values.size());
  };
  EXPECT_EQ(moved(false), 0);
  // 100 steps of 2^-12; the mean of 1000 sums of independent roundings of up to 2^-8 each.
  EXPECT_NEAR(moved(true), 100 * 0x1p-12, 5 * 0x1p-8 * std::sqrt(100.0) / 2 / std::sqrt(1000.0));
}

// Half the distance of bf16 numbers is 0.2 to 0.4 % of them: a second moment that should fall by 0.1 % a step stays.
TEST(StateStorage, NarrowSecondMomentsFallOnlyWithStochasticRounding) {
  constexpr int kSteps = 700;
  const auto mean_after_zero_gradients = [](bool stochastic) {
    auto o = adam(GRADSTEP_STATE_DTYPE_BF16);
    o.beta2 = 0.999;
    o.stochastic_rounding = stochastic ? 1 : 0;
    auto optimizer = make_optimizer(o);
    std::vector<double> v(1000, 1.0);
    Array host;
    host.data = v.data();
    host.size = 1000;
    host.dtype = DType::f64;
    optimizer->state().set(1, "exp_avg_sq", host);
    Model<float> model;
    for (int t = 0; t < kSteps; ++t) model.step(*optimizer);
    optimizer->state().get(1, "exp_avg_sq", host);
    double sum = 0;
    for (const double value : v) sum += value;
    return sum / 1000;
  };
  EXPECT_EQ(mean_after_zero_gradients(false), 1);
  // The mean of 1000 sums of independent roundings, none of them by more than 2^-8; 5 standard deviations.
  const double expected = std::pow(0.999, kSteps);
  EXPECT_NEAR(mean_after_zero_gradients(true), expected, 5 * 0x1p-8 / 2 * std::sqrt(kSteps / 1000.0));
}

TEST(StateStorage, IllegalOptionsAreRefused) {
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "options.state_dtype: is 3", [] { make_optimizer(adam(3)); });
  expect_error(GRADSTEP_ERR_UNSUPPORTED, "p0", [] { make_optimizer(adam(GRADSTEP_STATE_DTYPE_INT8), DType::f64); });
}

}  // namespace
}  // namespace gradstep::test
