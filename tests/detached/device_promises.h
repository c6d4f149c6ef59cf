// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What the library promises on every device: a step sends no answer to the host and takes no memory after the first,
// skipped steps count for nothing, and work keeps its order when its stream changes. A program instantiates the suite
// for its device, a TestDevice that a seed makes, with static void* stream(int k), of which stream(0) is the default
// one.
#pragma once

#include <cmath>
#include <string>

#include "detached/chain.h"

namespace gradstep::test {

template <class Device>
class DevicePromises : public testing::Test {};
TYPED_TEST_SUITE_P(DevicePromises);

/// After the first window, of two pushes, further ones are queued and nothing more.
template <class Device>
void expect_pushes_are_queued(CreateOptimizer create, bool skip_nonfinite) {
  Device device(1);
  Chain chain(device, create, skip_nonfinite);
  for (int k = 0; k < 2; ++k) chain.push();
  device.queue().finish();
  const std::int64_t waits = device.waits();
  const std::int64_t allocations = device.allocations();
  for (int k = 0; k < 8; ++k) chain.push();
  EXPECT_EQ(device.waits(), waits) << "a push has waited for the device";
  EXPECT_EQ(device.allocations(), allocations) << "a push has taken memory of the device";
  EXPECT_EQ(chain.steps(), 5);
}

TYPED_TEST_P(DevicePromises, AStepSendsNoAnswerAndTakesNoMemoryAfterTheFirst) {
  expect_pushes_are_queued<TypeParam>(create_adam, /*skip_nonfinite=*/true);
}

// Roots, and steps that may be skipped, are what a preconditioned step asks the host's patience for.
TYPED_TEST_P(DevicePromises, AStepOfShampooThatNothingCanSkipSendsNoAnswerBetweenRoots) {
  expect_pushes_are_queued<TypeParam>(create_shampoo, /*skip_nonfinite=*/false);
}

TYPED_TEST_P(DevicePromises, AStepOfShampooThatIsSkippedThereLeavesItsCadenceWhereItWas) {
  float expected = 0;
  for (const int skipped : {0, 1, 3}) {
    TypeParam device(5);
    Chain chain(device, create_shampoo);
    for (int k = 0; k < 2; ++k) chain.push();
    chain.fill(chain.grad(0), 0, std::nanf(""));
    for (int k = 0; k < 2 * skipped; ++k) chain.push();
    chain.fill(chain.grad(0), 0, 0.25F);
    for (int k = 0; k < 4; ++k) chain.push();
    EXPECT_EQ(chain.steps(), 3);
    if (skipped == 0) expected = chain.param();
    EXPECT_EQ(chain.param(), expected) << skipped << " steps skipped";
  }
}

TYPED_TEST_P(DevicePromises, SkippedStepsCountForNothingThoughTheHostHasAskedForThem) {
  TypeParam device(3);
  Chain chain(device);
  for (int k = 0; k < 2; ++k) chain.push();
  const float after_one = chain.param();
  chain.fill(chain.grad(0), 0, std::nanf(""));
  for (int k = 0; k < 2; ++k) chain.push();
  EXPECT_EQ(chain.param(), after_one);
  EXPECT_EQ(chain.steps(), 1);
  chain.fill(chain.grad(0), 0, 0.25F);
  for (int k = 0; k < 2; ++k) chain.push();
  EXPECT_EQ(chain.steps(), 2);

  TypeParam other(4);
  Chain never_skipped(other);
  for (int k = 0; k < 4; ++k) never_skipped.push();
  EXPECT_EQ(chain.param(), never_skipped.param()) << "bias corrections count applied steps alone";
}

TYPED_TEST_P(DevicePromises, AHyperParameterThatLeavesItsRangeThereIsToldWhenSomebodyAsks) {
  TypeParam device(1);
  Chain chain(device);
  gradstep_schedule falling{};
  falling.struct_size = sizeof falling;
  falling.kind = GRADSTEP_SCHEDULE_POLYNOMIAL;
  falling.init_value = 0.5;
  falling.end_value = -0.5;
  falling.decay_steps = 4;
  falling.power = 1;
  chain.set_learning_rate(falling);
  for (int k = 0; k < 10; ++k) chain.push();
  std::int64_t count = 0;
  EXPECT_EQ(gradstep_optimizer_step_count(chain.optimizer(), &count), GRADSTEP_ERR_NUMERIC);
  EXPECT_NE(std::string(gradstep_last_error()).find("learning_rate of group 0 at step 3"), std::string::npos)
      << gradstep_last_error();
  EXPECT_EQ(chain.steps(), 3) << "told once";
}

TYPED_TEST_P(DevicePromises, AHandleKeepsItsOrderWhenItsStreamChanges) {
  float expected = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    TypeParam device(seed);
    Chain chain(device);
    device.queue().finish();
    for (int k = 0; k < 6; ++k) chain.step(TypeParam::stream(1 + k % 3));
    const float found = chain.param(TypeParam::stream(3));
    if (seed == 0) expected = found;
    EXPECT_EQ(found, expected) << "seed " << seed;
    EXPECT_EQ(chain.steps(), 6);
  }
}

TYPED_TEST_P(DevicePromises, ContextsServeHandlesOfSeveralDevicesSideBySide) {
  TypeParam device(1);
  Chain there(device);
  std::int64_t size = 3;
  const gradstep_parameter parameter = parameter_of(size, {GRADSTEP_DEVICE_CPU, 0});
  gradstep_sgd_options options{};
  TestDevice::check(gradstep_sgd_options_init(&options, sizeof options));
  options.learning_rate = 1;
  gradstep_optimizer* here = nullptr;
  TestDevice::check(gradstep_optimizer_create_sgd(device.context(), &options, &parameter, 1, &here));
  float values[3] = {1, 2, 3};
  float gradients[3] = {1, 1, 1};
  gradstep_tensor param{};
  param.data = values;
  param.device = parameter.device;
  param.ndim = 1;
  param.dtype = parameter.dtype;
  param.shape = &size;
  gradstep_tensor grad = param;
  grad.data = gradients;
  TestDevice::check(gradstep_optimizer_step(here, &param, &grad, 1, nullptr));
  EXPECT_EQ(values[2], 2);
  there.push();
  gradstep_optimizer_destroy(here);

  gradstep_parameter both[2] = {parameter, parameter};
  both[0].name = "here";
  both[1].name = "there";
  both[1].device = device.id();
  EXPECT_EQ(gradstep_optimizer_create_sgd(device.context(), &options, both, 2, &here), GRADSTEP_ERR_UNSUPPORTED);
}

REGISTER_TYPED_TEST_SUITE_P(DevicePromises, AStepSendsNoAnswerAndTakesNoMemoryAfterTheFirst,
                            AStepOfShampooThatNothingCanSkipSendsNoAnswerBetweenRoots,
                            AStepOfShampooThatIsSkippedThereLeavesItsCadenceWhereItWas,
                            SkippedStepsCountForNothingThoughTheHostHasAskedForThem,
                            AHyperParameterThatLeavesItsRangeThereIsToldWhenSomebodyAsks,
                            AHandleKeepsItsOrderWhenItsStreamChanges, ContextsServeHandlesOfSeveralDevicesSideBySide);

}  // namespace gradstep::test
