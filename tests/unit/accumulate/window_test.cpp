// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "accumulate/window.h"

#include <limits>

#include "unit/accumulate/accumulator_fixture.h"

namespace gradstep::test {
namespace {

AccumulationWindow make_window(std::int32_t mode, std::int32_t trigger, std::int64_t steps = 1, double min_weight = 0) {
  AccumulatorOptions options;
  options.mode = mode;
  options.trigger = trigger;
  options.steps = steps;
  options.min_weight = min_weight;
  return AccumulationWindow(options, std::nullopt);
}

void open(AccumulationWindow& window) {
  if (window.opens()) window.open(window.next_length());
}

TEST(AccumulationWindow, EndsAfterItsStepsAndOpensAnew) {
  AccumulationWindow window = make_window(GRADSTEP_ACCUMULATE_MEAN, GRADSTEP_TRIGGER_STEPS, 2);
  for (std::int64_t k = 1; k <= 2; ++k) {
    EXPECT_TRUE(window.opens());
    open(window);
    EXPECT_FALSE(window.take(1));
    EXPECT_FALSE(window.opens());
    EXPECT_EQ(window.next_length(), 2);
    EXPECT_TRUE(window.take(1));
    window.close();
    EXPECT_TRUE(window.counters().ready);
    EXPECT_EQ(window.counters().windows, k);
  }
  EXPECT_EQ(window.counters().count, 2);
}

TEST(AccumulationWindow, EndsWhenItsWeightIsReached) {
  AccumulationWindow window = make_window(GRADSTEP_ACCUMULATE_WEIGHTED, GRADSTEP_TRIGGER_MIN_WEIGHT, 1, 2.5);
  open(window);
  EXPECT_EQ(window.counters().length, 0);
  EXPECT_FALSE(window.take(2));
  EXPECT_TRUE(window.take(0.5));
  EXPECT_EQ(window.weight(), 2.5);
  AccumulationWindow manual = make_window(GRADSTEP_ACCUMULATE_SUM, GRADSTEP_TRIGGER_MANUAL);
  open(manual);
  EXPECT_FALSE(manual.take(1e9));
  EXPECT_TRUE(manual.has_result());
}

TEST(AccumulationWindow, CountsSkippedMicroBatchesWherePushesCount) {
  for (const bool counts : {false, true}) {
    AccumulationWindow window = make_window(GRADSTEP_ACCUMULATE_MEAN, GRADSTEP_TRIGGER_STEPS, 2);
    if (counts) window.count_pushes();
    open(window);
    EXPECT_FALSE(window.skip());
    EXPECT_EQ(window.has_result(), counts);
    EXPECT_EQ(window.take(1), counts);
    EXPECT_EQ(window.counters().pushes, counts ? 2 : 1);
    EXPECT_EQ(window.counters().count, 1);
    EXPECT_EQ(window.counters().skipped, 1);
    window.reset();
    EXPECT_EQ(window.counters().skipped, 1);
    EXPECT_EQ(window.counters().pushes, 0);
  }
}

TEST(AccumulationWindow, AScheduleSaysTheLengthOfEachWindow) {
  AccumulatorOptions options;
  options.trigger = GRADSTEP_TRIGGER_SCHEDULE;
  const std::int64_t boundaries[] = {0, 1};  // the last steps of their values
  const double values[] = {1, 2.6, 0.4};
  gradstep_schedule source{};
  source.struct_size = sizeof source;
  source.kind = GRADSTEP_SCHEDULE_PIECEWISE;
  source.n_points = 3;
  source.boundaries = boundaries;
  source.values = values;
  AccumulationWindow window(options, Schedule("schedule", &source));
  EXPECT_TRUE(window.ends_by_count());
  EXPECT_EQ(window.next_length(), 1);
  window.close();
  EXPECT_EQ(window.next_length(), 3);
  window.close();
  expect_error(GRADSTEP_ERR_NUMERIC, "gives 0 for window 2", [&] { window.next_length(); });
  EXPECT_NE(window.digest(0), make_window(GRADSTEP_ACCUMULATE_MEAN_EACH, GRADSTEP_TRIGGER_STEPS).digest(0));
}

TEST(AccumulationWindow, SaysHowMicroBatchesAreAddedAndSumsEnd) {
  struct Case {
    std::int32_t mode;
    AccumulateFormula formula;
    double factor;  // of the second micro-batch, of weight 3
    Finish finish;  // after two of three micro-batches, of weights 0.5 and 3
    double value;
    bool plain;
  };
  const Case cases[] = {
      {GRADSTEP_ACCUMULATE_MEAN_EACH, AccumulateFormula::divided, 3, Finish::multiply, 1.5, false},
      {GRADSTEP_ACCUMULATE_SUM, AccumulateFormula::plain, 1, Finish::nothing, 1, true},
      {GRADSTEP_ACCUMULATE_MEAN, AccumulateFormula::plain, 1, Finish::divide, 2, true},
      {GRADSTEP_ACCUMULATE_RUNNING_MEAN, AccumulateFormula::running, 2, Finish::nothing, 1, false},
      {GRADSTEP_ACCUMULATE_WEIGHTED, AccumulateFormula::weighted, 3, Finish::divide, 3.5, true},
  };
  for (const Case& expected : cases) {
    AccumulationWindow window = make_window(expected.mode, GRADSTEP_TRIGGER_STEPS, 3);
    open(window);
    window.take(0.5);
    window.take(3);
    EXPECT_EQ(window.addend(3).formula, expected.formula) << expected.mode;
    EXPECT_EQ(window.addend(3).factor, expected.factor) << expected.mode;
    EXPECT_EQ(window.ending().finish, expected.finish) << expected.mode;
    EXPECT_EQ(window.ending().value, expected.value) << expected.mode;
    EXPECT_EQ(window.keeps_plain_sums(), expected.plain) << expected.mode;
  }
  AccumulationWindow one = make_window(GRADSTEP_ACCUMULATE_MEAN, GRADSTEP_TRIGGER_STEPS);
  open(one);
  one.take(1);
  EXPECT_EQ(one.ending().finish, Finish::nothing);  // a division by 1 is none
}

TEST(AccumulationWindow, RefusesOptionsThatMakeNoWindow) {
  const auto refuse = [](const char* text, std::int32_t mode, std::int32_t trigger, std::int64_t steps = 1,
                         double min_weight = 1) {
    expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, text, [&] { make_window(mode, trigger, steps, min_weight); });
  };
  refuse("options.mode: is -1, expected 0 to 4", -1, GRADSTEP_TRIGGER_STEPS);
  refuse("options.trigger: is 4, expected 0 to 3", GRADSTEP_ACCUMULATE_SUM, 4);
  refuse("options.steps: is 0", GRADSTEP_ACCUMULATE_SUM, GRADSTEP_TRIGGER_STEPS, 0);
  refuse("options.min_weight: is 0", GRADSTEP_ACCUMULATE_SUM, GRADSTEP_TRIGGER_MIN_WEIGHT, 1, 0);
  refuse("options.min_weight: is inf", GRADSTEP_ACCUMULATE_SUM, GRADSTEP_TRIGGER_MIN_WEIGHT, 1,
         std::numeric_limits<double>::infinity());
  refuse("is mean_each, whose K is not known", GRADSTEP_ACCUMULATE_MEAN_EACH, GRADSTEP_TRIGGER_MANUAL);
  refuse("options.schedule: is NULL", GRADSTEP_ACCUMULATE_SUM, GRADSTEP_TRIGGER_SCHEDULE);
}

}  // namespace
}  // namespace gradstep::test
