// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/hyper_parameters.h"

#include "tests/handles.h"
#include "unit/optim/optimizer_fixture.h"

namespace gradstep::test {
namespace {

const rules::Field kFields[] = {{"learning_rate", rules::at_least(0), rules::kRequired}, {"beta", rules::kFraction}};
const double kValues[] = {0.1, 0.5};

TEST(HyperParameters, AnUnknownNameListsTheKnownOnes) {
  const HyperParameters h(kFields, kValues, 1);
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT,
               "'lr' is not a hyper-parameter of this optimizer, expected one of "
               "learning_rate, beta",
               [&] { (void)h.field(0, "lr"); });
}

TEST(HyperParameters, GroupsAreIndependentAndNewOnesFollowGroupZero) {
  HyperParameters h(kFields, kValues, 2);
  h.set(1, "learning_rate", Schedule(0.7));
  h.set(0, "beta", Schedule(0.25));
  h.grow(3);
  h.refresh(0);
  EXPECT_EQ(h.values(0)[0], 0.1);
  EXPECT_EQ(h.values(1)[0], 0.7);
  EXPECT_EQ(h.values(2)[0], 0.1);
  EXPECT_EQ(h.values(2)[1], 0.25);
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "group: is 3", [&] { h.check_group(3); });
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "group: is -2", [&] { h.check_group(-2); });
}

TEST(HyperParameters, RangesAreCheckedWhereAConstantIsSet) {
  HyperParameters h(kFields, kValues, 1);
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "beta: is 1, expected in [0, 1)", [&] { h.set(0, "beta", Schedule(1)); });
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "learning_rate", [&] { h.set(0, "learning_rate", Schedule(-1)); });
  h.refresh(0);
  EXPECT_EQ(h.values(0)[1], 0.5);
}

TEST(HyperParameters, ANumberInMemoryIsReadAndCheckedAtEveryRefresh) {
  double beta = 0.25;
  HyperParameters h(kFields, kValues, 1);
  h.set(0, "beta", Schedule::in_memory(&beta));
  EXPECT_FALSE(h.schedule(0, 1).is_constant());
  h.refresh(0);
  EXPECT_EQ(h.values(0)[1], 0.25);
  EXPECT_FALSE(h.settled());
  beta = 0.75;
  h.refresh(1);
  EXPECT_EQ(h.values(0)[1], 0.75);
  beta = 1;
  expect_error(GRADSTEP_ERR_NUMERIC, "beta of group 0 at step 2: is 1, expected in [0, 1)", [&] { h.refresh(2); });
  EXPECT_EQ(h.values(0)[1], 0.75);
  beta = 0;
  EXPECT_FALSE(h.schedule(0, 1).is_absent());
  h.grow(2);
  h.refresh(3);
  EXPECT_EQ(h.values(1)[1], 0);
}

Schedule inverse_time(double rate) {
  auto inverse = gradstep_handles::defaults_of(gradstep_schedule_init);
  inverse.kind = GRADSTEP_SCHEDULE_INVERSE_TIME;
  inverse.init_value = 1;
  inverse.decay_steps = 1;
  inverse.decay_rate = rate;
  return Schedule("schedule", &inverse);
}

TEST(HyperParameters, EachGroupHasTheValuesOfItsOwnSchedule) {
  HyperParameters h(kFields, kValues, 5);
  h.set(-1, "learning_rate", inverse_time(1));
  h.set(2, "learning_rate", inverse_time(3));
  h.set(3, "learning_rate", Schedule(0.75));
  for (std::int64_t step = 0; step < 3; ++step) {
    h.refresh(step);
    EXPECT_FALSE(h.settled());
    const double t = static_cast<double>(step);
    const double expected[] = {1 / (1 + t), 1 / (1 + t), 1 / (1 + 3 * t), 0.75, 1 / (1 + t)};
    for (std::int32_t g = 0; g < 5; ++g) {
      EXPECT_EQ(h.values(g)[0], expected[g]) << "group " << g << ", step " << step;
      EXPECT_EQ(h.values(g)[1], 0.5);
    }
  }
  h.set(-1, "learning_rate", Schedule(0.25));
  h.refresh(3);
  EXPECT_TRUE(h.settled());
  EXPECT_EQ(h.values(4)[0], 0.25);
}

TEST(HyperParameters, EveryGroupsCallbackIsAsked) {
  int calls = 0;
  auto asked = gradstep_handles::defaults_of(gradstep_schedule_init);
  asked.kind = GRADSTEP_SCHEDULE_CALLBACK;
  asked.user = &calls;
  asked.function = [](void* user, std::int64_t /*step*/, double* value) -> gradstep_status {
    *value = ++*static_cast<int*>(user);
    return GRADSTEP_OK;
  };
  HyperParameters h(kFields, kValues, 2);
  h.set(-1, "learning_rate", Schedule("schedule", &asked));
  h.refresh(0);
  h.refresh(1);
  EXPECT_EQ(h.values(0)[0], 3);
  EXPECT_EQ(h.values(1)[0], 4);
}

TEST(HyperParameters, AValueOutsideTheRangeOfAnyGroupChangesNothing) {
  const rules::Field narrow[] = {{"learning_rate", rules::Range{0, 0.75}, rules::kRequired}};
  const double values[] = {0.5};
  const GroupFields groups[] = {{kFields, kValues}, {narrow, values}};
  HyperParameters h(groups, 2);
  h.set(-1, "learning_rate", inverse_time(1));
  h.refresh(1);
  EXPECT_EQ(h.values(0)[0], 0.5);
  expect_error(GRADSTEP_ERR_NUMERIC, "learning_rate of group 1 at step 0: is 1, expected in [0, 0.75)",
               [&] { h.refresh(0); });
  EXPECT_EQ(h.values(0)[0], 0.5);
  EXPECT_EQ(h.values(1)[0], 0.5);
}

TEST(HyperParameters, GroupsMayHaveFieldsOfTheirOwn) {
  const rules::Field fields[] = {{"momentum", rules::kFraction}, {"learning_rate", rules::at_least(0)}, {"nu", {}}};
  const double values[] = {0.9, 0.01, -3};
  const GroupFields groups[] = {{kFields, kValues}, {fields, values}};
  HyperParameters h(groups, 1);
  EXPECT_EQ(h.group_count(), 2) << "a rule waits for its first parameter";
  EXPECT_EQ(h.field_count(), 3U);
  h.set(-1, "learning_rate", Schedule(0.5));
  h.set(-1, "nu", Schedule(2));
  h.refresh(0);
  EXPECT_EQ(h.values(0).size(), 2U);
  EXPECT_EQ(h.values(0)[0], 0.5);
  EXPECT_EQ(h.values(1)[1], 0.5);
  EXPECT_EQ(h.values(1)[2], 2);
  EXPECT_EQ(h.facts().size(), 4U) << "learning_rate, beta, momentum and nu";
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "'beta' is not a hyper-parameter of group 1, expected one of momentum",
               [&] { h.set(1, "beta", Schedule(0.5)); });
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "'lr' is not a hyper-parameter of group",
               [&] { h.set(-1, "lr", Schedule(1)); });
}

TEST(HyperParameters, GroupsOfParametersStepWithTheirOwnRate) {
  auto o = default_options<gradstep_sgd_options>();
  o.learning_rate = 1;
  std::vector<std::int64_t> shape = {3};
  std::vector<gradstep_parameter> parameters(2);
  for (std::int32_t g = 0; g < 2; ++g) {
    auto& p = parameters[static_cast<std::size_t>(g)];
    p.struct_size = sizeof p;
    p.shape = shape.data();
    p.ndim = 1;
    p.group = g;
    p.dtype = to_dlpack(DType::f32);
    p.device = {GRADSTEP_DEVICE_CPU, 0};
  }
  FirstOrderOptimizer optimizer(make_context(), make_rule(o), Schema(parameters.data(), 2));
  EXPECT_EQ(optimizer.hyper_parameters().group_count(), 2);
  optimizer.set_schedule(1, "learning_rate", Schedule(0.25));
  TestTensor<float> p0({3}), p1({3}), g({3}, 1.0F);
  const gradstep_tensor params[] = {p0.tensor(), p1.tensor()};
  const gradstep_tensor grads[] = {g.tensor(), g.tensor()};
  host::step(optimizer, params, grads, nullptr, 2);
  EXPECT_EQ(p0.values[0], -1);
  EXPECT_EQ(p1.values[0], -0.25F);
}

}  // namespace
}  // namespace gradstep::test
