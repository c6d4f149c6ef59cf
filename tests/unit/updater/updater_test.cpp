// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "updater/updater.h"

#include "unit/updater/updater_fixture.h"

namespace gradstep::test {
namespace {

TEST(Updater, StepsOnceAWindowByTheAccumulatedGradients) {
  Replica chained(nullptr, {});
  Replica manual(nullptr, {});
  for (std::uint32_t i = 0; i < 12; ++i) {
    auto grads = micro_batch(i);
    EXPECT_EQ(chained.push(grads), i % 4 == 3);
    std::vector<gradstep_tensor> g;
    for (auto& grad : grads) g.push_back(grad.tensor());
    if (host::add(*manual.accumulator, g.data(), g.size(), 1)) {
      std::vector<gradstep_tensor> views(2);
      host::read_gradients(*manual.accumulator, views);
      const auto p = manual.param_tensors();
      host::step(*manual.optimizer, p.data(), views.data(), nullptr, 2);
    }
  }
  for (std::size_t k = 0; k < 2; ++k) EXPECT_EQ(chained.params[k].values, manual.params[k].values);
  EXPECT_EQ(chained.updater->stats().pushes, 12);
  EXPECT_EQ(chained.updater->stats().windows, 3);
  EXPECT_EQ(chained.updater->stats().steps, 3);
}

TEST(Updater, WithoutAnAccumulatorEveryPushIsAStep) {
  Replica::Setup setup;
  setup.accumulates = false;
  Replica replica(nullptr, setup);
  auto grads = micro_batch(0);
  EXPECT_TRUE(replica.push(grads));
  EXPECT_FALSE(replica.flush());
}

TEST(Updater, AsksAHostsScheduleOnceAStep) {
  std::vector<std::int64_t> asked;
  gradstep_schedule schedule{};
  schedule.struct_size = sizeof schedule;
  schedule.kind = GRADSTEP_SCHEDULE_CALLBACK;
  schedule.user = &asked;
  schedule.function = [](void* user, std::int64_t step, double* value) {
    static_cast<std::vector<std::int64_t>*>(user)->push_back(step);
    *value = 0.01;
    return static_cast<gradstep_status>(GRADSTEP_OK);
  };
  Replica::Setup setup;
  setup.steps = 2;
  Replica replica(nullptr, setup);
  replica.optimizer->set_schedule(-1, "learning_rate", Schedule("schedule", &schedule));
  asked.clear();
  for (std::uint32_t i = 0; i < 6; ++i) {
    auto grads = micro_batch(i);
    replica.push(grads);
  }
  EXPECT_EQ(asked, (std::vector<std::int64_t>{0, 1, 2}));
}

TEST(Updater, ClipsByTheNormOfTheWindow) {
  Replica::Setup setup;
  setup.steps = 1;
  setup.options.max_norm = 0.5;
  Replica clipped(nullptr, setup);
  Replica manual(nullptr, {});
  auto grads = micro_batch(0);
  clipped.push(grads);
  const auto p = manual.param_tensors();
  std::vector<gradstep_tensor> g;
  for (auto& grad : grads) g.push_back(grad.tensor());
  StepGuards guards;
  guards.max_norm = 0.5;
  host::step(*manual.optimizer, p.data(), g.data(), nullptr, 2, guards);
  EXPECT_EQ(clipped.params[1].values, manual.params[1].values);
}

TEST(Updater, FlushAppliesAPartialWindowOnceAndAnEmptyOneNever) {
  Replica replica(nullptr, {});
  EXPECT_FALSE(replica.flush());
  auto grads = micro_batch(0);
  replica.push(grads);
  EXPECT_TRUE(replica.flush());
  EXPECT_FALSE(replica.flush());
  EXPECT_EQ(replica.optimizer->step_count(), 1);
}

TEST(Updater, APoisonedWindowMakesNoStepAndTheNextOneDoes) {
  Replica::Setup setup;
  setup.steps = 2;
  setup.nonfinite = GRADSTEP_NONFINITE_POISON;
  Replica replica(nullptr, setup);
  auto good = micro_batch(0);
  auto bad = micro_batch(1);
  bad[0].values[3] = std::numeric_limits<float>::quiet_NaN();
  const auto before = replica.params[0].values;
  replica.push(good);
  EXPECT_FALSE(replica.push(bad));
  EXPECT_EQ(replica.params[0].values, before);
  EXPECT_EQ(replica.updater->stats().skipped_steps, 1);
  replica.push(good);
  EXPECT_TRUE(replica.push(good));
}

TEST(Updater, ABadArgumentLeavesEverythingAsItWas) {
  Replica replica(nullptr, {});
  auto grads = micro_batch(0);
  grads[1].shape = {299};
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "grads[1]: shape (299)", [&] { replica.push(grads); });
  EXPECT_EQ(replica.accumulator->pushes(), 0);
  EXPECT_EQ(replica.updater->stats().pushes, 0);
}

TEST(Updater, HandlesOfDifferentSchemasDoNotChain) {
  Replica replica(nullptr, {});
  auto other = std::make_shared<Accumulator>(replica.context, default_accumulator_options(), std::nullopt,
                                             make_schema({{40, 5}, {301}}));
  expect_error(GRADSTEP_ERR_MISMATCH, "optimizer and accumulator: parameter 'p1' has shape (300) against (301)",
               [&] { Updater(replica.context, replica.optimizer, other, nullptr, default_updater_options()); });
  auto options = default_updater_options();
  options.max_norm = -1;
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "max_norm",
               [&] { Updater(replica.context, replica.optimizer, nullptr, nullptr, options); });
}

}  // namespace
}  // namespace gradstep::test
