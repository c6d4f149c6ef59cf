// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What the detached device promises the suites that run on it, and what the library promises every device: a step sends
// no answer to the host, takes no memory after the first, and keeps its order when its stream changes.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>

#include "detached/chain.h"
#include "detached/detached_backend.h"
#include "gradstep/gradstep.h"

namespace gradstep::test {
namespace {

/// A detached device.
class Detached final : public TestDevice {
 public:
  explicit Detached(std::uint64_t seed) : TestDevice(kDetached) {
    auto backend = std::make_unique<DetachedBackend>(object_of(context())->cpu(), seed);
    backend_ = backend.get();
    object_of(context())->add_backend(kDetached, std::move(backend));
  }

  DetachedBackend& backend() const { return *backend_; }
  std::int64_t waits() const override { return backend_->waits(); }
  std::int64_t allocations() const override { return backend_->allocations(); }

 private:
  DetachedBackend* backend_ = nullptr;
};

TEST(DetachedDeathTest, AHostThatReadsOrWritesItsMemoryIsEnded) {
  const Detached device(1);
  float* numbers = device.allocate(4);
  const float value = 3;
  write(device.queue(), numbers, value);
  EXPECT_EQ(read(device.queue(), static_cast<const float*>(numbers)), 3);
  volatile float* seen = numbers;
  EXPECT_DEATH(static_cast<void>(*seen), "");
  EXPECT_DEATH(*seen = 1, "");
}

TEST(Detached, WorkIsDoneWhenSomebodyWaitsAndNotBefore) {
  const Detached device(1);
  float* numbers = device.allocate(4);
  device.queue().zero(numbers, 4 * sizeof(float));
  const Event event = device.queue().record();
  EXPECT_EQ(device.backend().done(), 0);
  EXPECT_FALSE(event.is_reached());
  device.queue().finish();
  EXPECT_TRUE(event.is_reached());
}

/// What a number is after two streams have written it.
float written_by_two(std::uint64_t seed, bool with_event) {
  const Detached device(seed);
  Queue& first = device.backend().queue(reinterpret_cast<void*>(1));
  Queue& second = device.backend().queue(reinterpret_cast<void*>(2));
  float* number = device.allocate(1);
  write(first, number, 1.0F);
  if (with_event) second.wait(first.record());
  write(second, number, 2.0F);
  second.finish();
  first.finish();
  return read(device.queue(), static_cast<const float*>(number));
}

TEST(Detached, StreamsAreInAnyOrderButForEvents) {
  bool any_first = false;
  bool any_second = false;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    (written_by_two(seed, /*with_event=*/false) == 1 ? any_first : any_second) = true;
    EXPECT_EQ(written_by_two(seed, /*with_event=*/true), 2);
  }
  EXPECT_TRUE(any_first);
  EXPECT_TRUE(any_second);
}

/// After the first window, of two pushes, further ones are queued and nothing more.
void expect_pushes_are_queued(CreateOptimizer create, bool skip_nonfinite) {
  Detached device(1);
  Chain chain(device, create, skip_nonfinite);
  for (int k = 0; k < 2; ++k) chain.push();
  const std::int64_t waits = device.waits();
  const std::int64_t allocations = device.allocations();
  for (int k = 0; k < 8; ++k) chain.push();
  EXPECT_EQ(device.waits(), waits) << "a push has waited for the device";
  EXPECT_EQ(device.allocations(), allocations) << "a push has taken memory of the device";
  EXPECT_EQ(chain.steps(), 5);
}

TEST(Detached, AStepSendsNoAnswerAndTakesNoMemoryAfterTheFirst) {
  expect_pushes_are_queued(create_adam, /*skip_nonfinite=*/true);
}

// Roots, and steps that may be skipped, are what a preconditioned step asks the host's patience for.
TEST(Detached, AStepOfShampooThatNothingCanSkipSendsNoAnswerBetweenRoots) {
  expect_pushes_are_queued(create_shampoo, /*skip_nonfinite=*/false);
}

TEST(Detached, AStepOfShampooThatIsSkippedThereLeavesItsCadenceWhereItWas) {
  float expected = 0;
  for (const int skipped : {0, 1, 3}) {
    Detached device(5);
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

TEST(Detached, SkippedStepsCountForNothingThoughTheHostHasAskedForThem) {
  Detached device(3);
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

  Detached other(4);
  Chain never_skipped(other);
  for (int k = 0; k < 4; ++k) never_skipped.push();
  EXPECT_EQ(chain.param(), never_skipped.param()) << "bias corrections count applied steps alone";
}

TEST(Detached, AHyperParameterThatLeavesItsRangeThereIsToldWhenSomebodyAsks) {
  Detached device(1);
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

TEST(Detached, AHandleKeepsItsOrderWhenItsStreamChanges) {
  float expected = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Detached device(seed);
    Chain chain(device);
    device.queue().finish();
    for (std::intptr_t k = 0; k < 6; ++k) chain.step(reinterpret_cast<void*>(1 + k % 3));
    const float found = chain.param(reinterpret_cast<void*>(3));
    if (seed == 0) expected = found;
    EXPECT_EQ(found, expected) << "seed " << seed;
    EXPECT_EQ(chain.steps(), 6);
  }
}

TEST(Detached, ContextsServeHandlesOfSeveralDevicesSideBySide) {
  Detached device(1);
  Chain there(device);
  std::int64_t size = 3;
  gradstep_parameter parameter{};
  parameter.struct_size = sizeof parameter;
  parameter.shape = &size;
  parameter.ndim = 1;
  parameter.dtype = {GRADSTEP_TYPE_FLOAT, 32, 1};
  parameter.device = {GRADSTEP_DEVICE_CPU, 0};
  gradstep_sgd_options options{};
  Detached::check(gradstep_sgd_options_init(&options, sizeof options));
  options.learning_rate = 1;
  gradstep_optimizer* here = nullptr;
  Detached::check(gradstep_optimizer_create_sgd(device.context(), &options, &parameter, 1, &here));
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
  Detached::check(gradstep_optimizer_step(here, &param, &grad, 1, nullptr));
  EXPECT_EQ(values[2], 2);
  there.push();
  gradstep_optimizer_destroy(here);

  gradstep_parameter both[2] = {parameter, parameter};
  both[0].name = "here";
  both[1].name = "there";
  both[1].device = kDetached;
  EXPECT_EQ(gradstep_optimizer_create_sgd(device.context(), &options, both, 2, &here), GRADSTEP_ERR_UNSUPPORTED);
}

}  // namespace
}  // namespace gradstep::test
