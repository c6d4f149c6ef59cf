// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Gradients that are finite and whose squares are not: what a step stores stays finite, or the step counts as one of
// gradients that are not finite.
#include <cmath>
#include <limits>

#include "optim/saved_optimizer.h"
#include "optim/shampoo/shampoo.h"
#include "unit/memory_stream.h"
#include "unit/optim/optimizer_fixture.h"

namespace gradstep::test {
namespace {

constexpr std::size_t kSpiked = 5;

std::string save(Optimizer& optimizer) { return saved_bytes("optimizer", {{"", save_optimizer(optimizer)}}); }

void load(Optimizer& optimizer, const std::string& bytes) {
  const StateFile file = read_bytes(bytes);
  LoadedPart part(file, "");
  load_optimizer(part, optimizer)();
}

/// One of gradients 1, but for one element.
template <class T = float>
StepOutcome step_with(Model<T>& model, Optimizer& optimizer, T spike, const StepGuards& guards = {}) {
  for (auto& grad : model.grads) grad.values.assign(grad.values.size(), 1);
  model.grads[1].values[kSpiked] = spike;
  return model.step(optimizer, guards);
}

void expect_finite(const Model<float>& model) {
  for (const auto& param : model.params) {
    for (const float p : param.values) ASSERT_TRUE(std::isfinite(p));
  }
}

/// A spike, a save that loads, and steps after which all elements have moved, the spiked one too.
template <class Options>
void expect_survives(Options options, float spike) {
  options.learning_rate = 0.01;
  for (const std::int32_t dtype : {GRADSTEP_STATE_DTYPE_NATIVE, GRADSTEP_STATE_DTYPE_BF16, GRADSTEP_STATE_DTYPE_INT8}) {
    options.state_dtype = dtype;
    auto optimizer = make_optimizer(options);
    Model<float> model;
    StepGuards guards;
    guards.skip_nonfinite = true;
    ASSERT_TRUE(step_with(model, *optimizer, spike, guards).applied) << spike;
    load(*optimizer, save(*optimizer));
    const auto before = model.params;
    for (int t = 0; t < 3; ++t) step_with(model, *optimizer, 1.0F, guards);
    expect_finite(model);
    for (std::size_t i = 0; i < 1000; ++i) {
      if (i != kSpiked) {
        ASSERT_LT(model.params[1].values[i], before[1].values[i]) << i << " beside a spike of " << spike;
      }
    }
    load(*optimizer, save(*optimizer));
  }
}

TEST(FiniteState, ASquareBeyondFloatLeavesFiniteSumsThatSaveAndLoad) {
  expect_survives(default_options<gradstep_adam_options>(), 3e19F);
  expect_survives(default_options<gradstep_adam_options>(), 5.7e20F);
  auto amsgrad = default_options<gradstep_adam_options>();
  amsgrad.amsgrad = 1;
  expect_survives(amsgrad, 5.7e20F);
  auto rmsprop = default_options<gradstep_rmsprop_options>();
  expect_survives(rmsprop, 3e19F);
  rmsprop.centered = 1;
  rmsprop.momentum = 0.9;
  expect_survives(rmsprop, 3e19F);
  expect_survives(default_options<gradstep_adagrad_options>(), 1.8e19F);
}

TEST(FiniteState, TheSecondMomentOfASpikeFallsAgain) {
  auto options = default_options<gradstep_adam_options>();
  options.learning_rate = 0.01;
  auto optimizer = make_optimizer(options);
  Model<float> model;
  step_with(model, *optimizer, 3e19F);
  const auto v = [&] { return static_cast<const float*>(optimizer->state().view(1, "exp_avg_sq").data)[kSpiked]; };
  EXPECT_NEAR(v() / 9e35F, 1, 1e-5);
  step_with(model, *optimizer, 1.0F);
  EXPECT_NEAR(v() / 9e35F, 0.999, 1e-5);
}

/// Beyond what a rule holds, by a gradient and by the scale alone.
template <class Options>
void expect_counts_as_nonfinite(Options options, double limit) {
  options.learning_rate = 0.01;
  for (const bool by_scale : {false, true}) {
    for (const double part : {0.99, 1.01}) {
      auto optimizer = make_optimizer(options);
      Model<float> model;
      for (auto& grad : model.grads) grad.values.assign(grad.values.size(), 0);
      model.grads[1].values[kSpiked] = by_scale ? 1.0F : static_cast<float>(part * limit);
      float found_inf = 0;
      StepGuards guards;
      guards.found_inf = &found_inf;
      if (by_scale) guards.grad_scale = -part * limit;
      const StepOutcome outcome = model.step(*optimizer, guards);
      EXPECT_EQ(outcome.applied, part < 1) << part * limit;
      EXPECT_EQ(found_inf, part < 1 ? 0 : 1);
      EXPECT_NEAR(outcome.grad_norm, model.grads[1].values[kSpiked], 1e-6 * outcome.grad_norm) << "not scaled";
      expect_finite(model);
    }
  }
}

TEST(FiniteState, AStepThatWouldStoreInfinityCountsAsNotFinite) {
  constexpr double kLargest = 3.3895313892515355e38;  // of bfloat16
  expect_counts_as_nonfinite(default_options<gradstep_adam_options>(), std::sqrt(kLargest / (1 - 0.999)));
  auto rmsprop = default_options<gradstep_rmsprop_options>();
  rmsprop.rho = 0.75;
  expect_counts_as_nonfinite(rmsprop, std::sqrt(kLargest / 0.25));
  expect_counts_as_nonfinite(default_options<gradstep_adagrad_options>(), std::sqrt(kLargest));
  auto sgd = default_options<gradstep_sgd_options>();
  sgd.momentum = 0.75;
  expect_counts_as_nonfinite(sgd, kLargest * 0.25);
}

// Their norm is above the limit, which no element is; one that is counts, wherever it is.
TEST(FiniteState, ManyElementsBelowTheLimitAreStored) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const double limit =
        dtype == DType::f64 ? std::sqrt(std::numeric_limits<double>::max()) / std::sqrt(1 - 0.999) : 5.8e20;
    auto options = default_options<gradstep_adam_options>();
    options.learning_rate = 0.01;
    const auto is_applied = [&]<class T>(Model<T> model, bool has_larger) {
      auto optimizer = make_optimizer(options, dtype);
      for (auto& grad : model.grads) grad.values.assign(grad.values.size(), static_cast<T>(-0.99 * limit));
      if (has_larger) model.grads.back().values.back() = static_cast<T>(-1.01 * limit);
      StepGuards guards;
      guards.skip_nonfinite = true;
      return model.step(*optimizer, guards).applied;
    };
    for (const bool has_larger : {false, true}) {
      EXPECT_EQ(dtype == DType::f64 ? is_applied(Model<double>(), has_larger) : is_applied(Model<float>(), has_larger),
                !has_larger);
    }
  }
}

TEST(FiniteState, WhatIsClippedBeforeItIsStoredMayBeLarger) {
  auto options = default_options<gradstep_adam_options>();
  options.learning_rate = 0.01;
  StepGuards by_norm;
  by_norm.skip_nonfinite = true;
  by_norm.max_norm = 1;
  StepGuards by_value;
  by_value.skip_nonfinite = true;
  by_value.clip_value = 1;
  for (const StepGuards& guards : {by_norm, by_value}) {
    auto optimizer = make_optimizer(options);
    Model<float> model;
    EXPECT_TRUE(step_with(model, *optimizer, 1e30F, guards).applied);
    expect_finite(model);
    EXPECT_FALSE(save(*optimizer).empty());
  }
}

TEST(FiniteState, AScaleBeyondFloatCountsAsNotFinite) {
  auto options = default_options<gradstep_sgd_options>();
  options.learning_rate = 1;
  auto optimizer = make_optimizer(options);
  Model<float> model;  // gradients of zeros, and the scale would be infinite in their arithmetic
  StepGuards guards;
  guards.skip_nonfinite = true;
  guards.grad_scale = 1e39;
  EXPECT_FALSE(model.step(*optimizer, guards).applied);
}

TEST(FiniteState, WithoutGuardsSumsOfSquaresStopAtTheLargestNumber) {
  auto options = default_options<gradstep_adam_options>();
  options.learning_rate = 0.01;
  auto optimizer = make_optimizer(options);
  Model<float> model;
  for (int t = 0; t < 2; ++t) step_with(model, *optimizer, 1e30F);
  EXPECT_EQ(static_cast<const float*>(optimizer->state().view(1, "exp_avg_sq").data)[kSpiked], 0x1.fep127F);
  expect_finite(model);
  load(*optimizer, save(*optimizer));
}

TEST(FiniteState, AGradientOfNanStaysInItsElementOfCodedState) {
  auto options = default_options<gradstep_adam_options>();
  options.learning_rate = 0.01;
  options.state_dtype = GRADSTEP_STATE_DTYPE_INT8;
  auto optimizer = make_optimizer(options);
  Model<float> model;
  step_with(model, *optimizer, std::numeric_limits<float>::quiet_NaN());
  for (int t = 0; t < 2; ++t) step_with(model, *optimizer, 1.0F);
  for (std::size_t i = 0; i < 1000; ++i) EXPECT_EQ(std::isnan(model.params[1].values[i]), i == kSpiked) << i;
}

TEST(FiniteState, AStepOfShampooThatWouldStoreInfinityCountsAsNotFinite) {
  auto options = default_shampoo_options();
  options.learning_rate = 0.01;
  Shampoo optimizer(make_context(), options, make_schema(kShapes));
  Model<float> model;
  StepGuards guards;
  guards.skip_nonfinite = true;
  EXPECT_TRUE(step_with(model, optimizer, 1e19F, guards).applied);
  EXPECT_FALSE(step_with(model, optimizer, 3e19F, guards).applied);
  EXPECT_FALSE(save(optimizer).empty());
}

/// Without guards a statistic overflows; its average forgets that, and roots are found again.
TEST(FiniteState, StatisticsThatHaveOverflownGiveRootsAgain) {
  auto options = default_shampoo_options();
  options.learning_rate = 0.01;
  options.beta2 = 0.5;
  Shampoo optimizer(make_context(), options, make_schema(kShapes));
  Model<float> model;
  model.draw_gradients(1);
  model.grads[0].values[kSpiked] = 3e19F;
  model.grads[0].values[kSpiked + 6] = -3e19F;
  model.step(optimizer);
  for (int t = 0; t < 200; ++t) {
    model.draw_gradients(static_cast<std::uint32_t>(t));
    model.step(optimizer);
  }
  expect_finite(model);
  for (const gradstep_metric& metric : optimizer.metrics()) {
    if (std::string(metric.name) == "preconditioner_age") {
      EXPECT_LT(metric.value, 50);
    }
  }
}

TEST(FiniteState, WhatNoLoadTakesIsNotSaved) {
  auto options = default_options<gradstep_adam_options>();
  options.learning_rate = 0.01;
  auto optimizer = make_optimizer(options);
  Model<float> model;
  step_with(model, *optimizer, std::numeric_limits<float>::quiet_NaN());
  expect_error(GRADSTEP_ERR_NUMERIC, "'p1/exp_avg' holds NaN or infinity", [&] { (void)save(*optimizer); });
}

}  // namespace
}  // namespace gradstep::test
