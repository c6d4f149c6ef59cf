// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/schedule.h"

#include <cmath>
#include <limits>

#include "unit/support.h"

namespace gradstep::test {
namespace {

gradstep_schedule raw(gradstep_schedule_kind kind) {
  gradstep_schedule s{};
  s.struct_size = sizeof s;
  s.kind = kind;
  s.init_value = 2;
  s.end_value = 0.5;
  s.decay_steps = 4;
  s.decay_rate = 0.5;
  s.power = 2;
  return s;
}

double value(const gradstep_schedule& s, std::int64_t step) { return Schedule("s", &s).value(step); }

TEST(Schedule, ClosedFormsAtHandComputedPoints) {
  EXPECT_EQ(value(raw(GRADSTEP_SCHEDULE_CONSTANT), 1000), 2);
  auto s = raw(GRADSTEP_SCHEDULE_EXPONENTIAL_DECAY);
  EXPECT_DOUBLE_EQ(value(s, 2), 2 * std::sqrt(0.5));
  s.staircase = 1;
  EXPECT_EQ(value(s, 3), 2);
  EXPECT_EQ(value(s, 4), 1);
  s = raw(GRADSTEP_SCHEDULE_INVERSE_TIME);
  EXPECT_DOUBLE_EQ(value(s, 2), 2 / 1.25);
  s = raw(GRADSTEP_SCHEDULE_POLYNOMIAL);
  EXPECT_DOUBLE_EQ(value(s, 2), 1.5 * 0.25 + 0.5);
  EXPECT_EQ(value(s, 400), 0.5);
  s = raw(GRADSTEP_SCHEDULE_COSINE);
  EXPECT_EQ(value(s, 0), 2);
  EXPECT_NEAR(value(s, 2), 1.25, 1e-15);  // cos(pi / 2) is not exactly 0
  EXPECT_EQ(value(s, 4), 0.5);
}

TEST(Schedule, PiecewiseChangesAfterItsBoundaries) {
  const std::int64_t boundaries[] = {2, 5};
  const double values[] = {1, 0.1, 0.01};
  auto s = raw(GRADSTEP_SCHEDULE_PIECEWISE);
  s.boundaries = boundaries;
  s.values = values;
  s.n_points = 3;
  const Schedule owned("s", &s);
  s.boundaries = nullptr;  // deep-copied
  const double expected[] = {1, 1, 1, 0.1, 0.1, 0.1, 0.01};
  for (std::int64_t t = 0; t < 7; ++t) EXPECT_EQ(owned.value(t), expected[t]) << t;
}

TEST(Schedule, WarmUpIsLinearAndThenTheKindStartsAtZero) {
  auto s = raw(GRADSTEP_SCHEDULE_EXPONENTIAL_DECAY);
  s.warmup_steps = 3;
  EXPECT_DOUBLE_EQ(value(s, 0), 0.5);
  EXPECT_DOUBLE_EQ(value(s, 2), 1.5);
  EXPECT_DOUBLE_EQ(value(s, 3), 2);
  EXPECT_DOUBLE_EQ(value(s, 7), 1);
}

TEST(Schedule, AWarmUpOfAnyLengthIsAFraction) {
  auto s = raw(GRADSTEP_SCHEDULE_CONSTANT);
  s.warmup_steps = std::numeric_limits<std::int64_t>::max();
  EXPECT_DOUBLE_EQ(value(s, 0), value(s, 1) / 2);
  EXPECT_GT(value(s, 0), 0);
}

TEST(Schedule, CallbackGetsTheStepAndItsFailureIsACallbackError) {
  struct Host {
    int released = 0;
    bool fails = false;
  } host;
  {
    auto s = raw(GRADSTEP_SCHEDULE_CALLBACK);
    s.user = &host;
    s.function = [](void* user, std::int64_t step, double* v) -> gradstep_status {
      if (static_cast<Host*>(user)->fails) {
        set_last_error("no value today");
        return GRADSTEP_ERR_CALLBACK;
      }
      *v = static_cast<double>(step) * 10;
      return GRADSTEP_OK;
    };
    s.release = [](void* user) { ++static_cast<Host*>(user)->released; };
    Schedule owned("s", &s);
    const Schedule copy = owned;
    EXPECT_EQ(copy.value(7), 70);
    host.fails = true;
    expect_error(GRADSTEP_ERR_CALLBACK, "no value today", [&] { (void)owned.value(1); });
  }
  EXPECT_EQ(host.released, 1);
  auto bad = raw(GRADSTEP_SCHEDULE_CALLBACK);
  bad.user = &host;
  bad.release = [](void* user) { ++static_cast<Host*>(user)->released; };
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "s.function: is NULL", [&] { Schedule("s", &bad); });
  EXPECT_EQ(host.released, 2) << "a refused schedule is released too";
}

TEST(Schedule, BadFieldsAreNamed) {
  auto s = raw(GRADSTEP_SCHEDULE_COSINE);
  s.decay_steps = 0;
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "s.decay_steps: is 0", [&] { value(s, 0); });
  s = raw(GRADSTEP_SCHEDULE_CONSTANT);
  s.init_value = NAN;
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "s.init_value", [&] { value(s, 0); });
  s = raw(GRADSTEP_SCHEDULE_EXPONENTIAL_DECAY);
  s.decay_rate = -1;
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "s.decay_rate", [&] { value(s, 0); });
  s = raw(GRADSTEP_SCHEDULE_INVALID);
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "s.kind: is -1", [&] { value(s, 0); });
  s = raw(GRADSTEP_SCHEDULE_CONSTANT);
  s.warmup_steps = -1;
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "s.warmup_steps", [&] { value(s, 0); });
}

TEST(Schedule, AbsentMeansConstantZeroOrADecayFromZero) {
  EXPECT_TRUE(Schedule().is_absent());
  EXPECT_FALSE(Schedule(0.1).is_absent());
  auto s = raw(GRADSTEP_SCHEDULE_EXPONENTIAL_DECAY);
  s.init_value = 0;
  EXPECT_TRUE(Schedule("s", &s).is_absent());
  s = raw(GRADSTEP_SCHEDULE_COSINE);
  s.init_value = 0;
  EXPECT_FALSE(Schedule("s", &s).is_absent()) << "a schedule that is 0 now keeps its term";
}

}  // namespace
}  // namespace gradstep::test
