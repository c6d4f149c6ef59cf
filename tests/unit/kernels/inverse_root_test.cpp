// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/inverse_root.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <vector>

namespace gradstep::kernels {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Where coupled Newton ends whose M has these distances from I.
NewtonState run(const NewtonForm& form, std::initializer_list<double> distances, double low = 1) {
  const double* next = distances.begin();
  NewtonState state = begin_newton(form, *next++, {1, low, 1});
  while (goes_on<double>(form, state) && next != distances.end()) end_iteration(form, *next++, state);
  return state;
}

/// What a step makes of an eigenvalue y^p of M, to the power 1/p.
double stepped(std::int32_t p, const NewtonStep& step, double y) {
  return y * (step.diagonal - step.scale * std::pow(y, static_cast<double>(p)));
}

struct Ends {
  double least;
  double largest;
};

/// Of stepped(y) for y from l to 1.
Ends ends_of(std::int32_t p, const NewtonStep& step, double low) {
  constexpr int kPoints = 20000;
  Ends ends{2, 0};
  for (int i = 0; i <= kPoints; ++i) {
    const double f = stepped(p, step, low + (1 - low) * i / kPoints);
    ends = {std::min(ends.least, f), std::max(ends.largest, f)};
  }
  return ends;
}

/// How much a step shrinks the largest eigenvalue beside those near zero.
double loss_of(std::int32_t p, const NewtonStep& step) {
  return std::pow(step.diagonal / (step.diagonal - step.scale), static_cast<double>(p));
}

constexpr std::int32_t kExponents[] = {1, 2, 4, 6, 8, 16};

TEST(InverseRoot, ARidgeIsMadeFromNoLessThanTheSmallestEigenvalue) {
  EXPECT_EQ(root_ridge(0.5, 8), 4);
  EXPECT_EQ(root_ridge(0.5, 0), 0.5 * kSmallestEigenvalue);
  EXPECT_EQ(root_ridge(0.5, -8), 0.5 * kSmallestEigenvalue);
  EXPECT_TRUE(std::isnan(root_ridge(0.5, kNan)));
}

TEST(InverseRoot, DampedEigenvaluesBelowHalfTheRidgeCountAsThat) {
  EXPECT_EQ(root_eigenvalue(15, 1, 4), 0.5);
  EXPECT_EQ(root_eigenvalue(-0.25, 1, 1), 1 / 0.75);
  EXPECT_EQ(root_eigenvalue(-15, 0.125, 4), 2);
  EXPECT_EQ(raise_of_eigenvalue(15, 1), 0);
  EXPECT_EQ(raise_of_eigenvalue(-0.25, 1), 0);
  EXPECT_EQ(raise_of_eigenvalue(-15, 1), 14.5);
}

TEST(InverseRoot, NewtonGoesOnceMoreBelowItsTolerance) {
  EXPECT_EQ(run({4, false, false}, {0.5, 0.1, 1e-7, 1e-14, 1e-14}).iterations, 3);
  EXPECT_EQ(run({4, false, true}, {0.5, 0.1, 1e-7, 1e-14, 1e-14}).iterations, 2);
}

TEST(InverseRoot, NewtonTakesThePreviousIterateAfterThreeRises) {
  const NewtonState state = run({4, false, false}, {0.1, 0.2, 0.1, 0.2, 0.3, 0.4, 0.5});
  EXPECT_TRUE(state.takes_previous);
  EXPECT_EQ(state.iterations, 5);
  EXPECT_TRUE(run({4, false, false}, {0.5, kNan, 0.1}).takes_previous);
}

TEST(InverseRoot, NewtonByTheSeedsRulesTakesItAfterOneRiseByAFifth) {
  EXPECT_FALSE(run({4, false, true}, {0.5, 0.55}).takes_previous);
  EXPECT_TRUE(run({4, false, true}, {0.5, 0.65}).takes_previous);
  EXPECT_TRUE(run({4, false, true}, {0.5, kNan}).takes_previous);
}

TEST(InverseRoot, NewtonForgivesRisesWhileEigenvaluesAreFarFromOne) {
  EXPECT_FALSE(run({4, false, false}, {0.5, 0.6, 0.7, 0.8}, 1e-3).takes_previous);
  EXPECT_TRUE(run({4, false, false}, {0.5, 0.6, 0.7, 0.8}).takes_previous);
}

TEST(InverseRoot, NewtonEndsAtItsLastIteration) {
  NewtonState state = begin_newton({}, 0.5, {});
  while (goes_on<double>({}, state)) end_iteration({}, 0.5, state);
  EXPECT_EQ(state.iterations, kMaxRootIterations);
  EXPECT_FALSE(state.takes_previous);
}

// In one dimension it is Newton's iteration for m: m <- m ((p + 1 - m) / p)^p, which ends at 1.
TEST(InverseRoot, AnExtensionIsFollowedToTheIdentity) {
  const NewtonForm form{2, true, false};
  NewtonState state = begin_newton(form, 0, {1, 1, 0.5});
  EXPECT_EQ(state.error, 0.5);
  ASSERT_TRUE(goes_on<double>(form, state));
  end_iteration(form, 0, state);
  EXPECT_EQ(state.pad, 0.5 * 1.25 * 1.25);
  while (goes_on<double>(form, state)) end_iteration(form, 0, state);
  EXPECT_LT(state.error, 1e-6);
}

TEST(InverseRoot, StepsAreNewtonsWhereNothingIsFarFromOne) {
  for (const std::int32_t p : kExponents) {
    EXPECT_EQ(newton_step(p, 1).scale, 1.0 / p);
    EXPECT_EQ(newton_step(p, 1).diagonal, 1 + 1.0 / p);
    EXPECT_DOUBLE_EQ(next_low(p, newton_step(p, 1), 1), 1);
  }
  NewtonState state = begin_newton({4, false, false}, 1e-7, {1, 1e-3, 1});  // what is left when it has come to its end
  ASSERT_TRUE(goes_on<double>({4, false, false}, state));
  EXPECT_EQ(state.step.diagonal, 1.25);
}

// Equal at both ends, 1 where it is largest; and other shifts leave a larger spread.
TEST(InverseRoot, AStepLeavesTheLeastSpread) {
  for (const std::int32_t p : kExponents) {
    for (const double low : {0.6, 0.8, 0.99}) {
      const NewtonStep step = newton_step(p, low);
      const Ends ends = ends_of(p, step, low);
      EXPECT_NEAR(ends.largest, 1, 1e-8);
      EXPECT_NEAR(stepped(p, step, low), ends.least, 1e-12);
      EXPECT_NEAR(next_low(p, step, low), ends.least, 1e-12);
      if (loss_of(p, step) > kNewtonLoss * (1 - 1e-9)) continue;  // which has moved the shift
      EXPECT_NEAR(stepped(p, step, 1), ends.least, 1e-12);
      for (const double other : {0.99, 1.01}) {
        const Ends worse = ends_of(p, {step.diagonal * other, step.scale}, low);
        EXPECT_LT(worse.least / worse.largest, ends.least / ends.largest) << p << ' ' << low << ' ' << other;
      }
    }
  }
}

TEST(InverseRoot, AStepTurnsNoSignAndKeepsTheAccuracyOfTheLargest) {
  for (const std::int32_t p : kExponents) {
    for (const double low : {0.0, 1e-8, 1e-3, 0.1, 0.5, 1.0}) {
      const NewtonStep step = newton_step(p, low);
      EXPECT_GT(step.scale, 0);
      EXPECT_GT(step.diagonal, step.scale);
      EXPECT_LE(loss_of(p, step), kNewtonLoss * (1 + 1e-12));
      EXPECT_LE(ends_of(p, step, 0).largest, 1 + 1e-12);
    }
  }
}

TEST(InverseRoot, StepsAreCountedUntilTheSmallestEigenvalueIsOne) {
  for (const bool source_steps : {false, true}) {
    for (const std::int32_t p : kExponents) {
      const NewtonForm form{p, false, source_steps};
      double y = std::pow((source_steps ? (1 + p) / 2.0 : 1) * 1e-7, 1.0 / p);
      double low = y;
      const std::int32_t steps = newton_steps(form, 1e-7);
      for (std::int32_t k = 0; k < steps; ++k) {
        const NewtonStep step = newton_step(p, source_steps ? 1 : low);
        EXPECT_LT(y, 1 - 1e-13) << p << ' ' << k;
        y = stepped(p, step, y);
        low = next_low(p, step, low);
      }
      EXPECT_NEAR(y, 1, 1e-11) << p;
    }
  }
  EXPECT_LE(newton_steps({4, false, false}, 1e-6), 11);
  EXPECT_GE(newton_steps({4, false, true}, 1e-6), 19);
  EXPECT_EQ(newton_steps({4, false, false}, 0), newton_steps({4, false, false}, kSmallestRatio));
  EXPECT_EQ(newton_steps({4, false, false}, 1), 0);
}

/// Of a diagonal matrix D = S + ridge I.
NewtonMeasures measures_of(const std::vector<double>& values, double ridge) {
  NewtonMeasures measures;
  for (const double value : values) {
    measures.trace += value;
    measures.squares += value * value;
  }
  measures.rows = static_cast<double>(values.size());
  measures.ridge = ridge;
  return measures;
}

TEST(InverseRoot, NewtonStartsBelowABoundOfTheLargestEigenvalue) {
  const NewtonForm form{4, false, false};
  for (const std::vector<double>& values :
       {std::vector<double>{1, 1, 1, 1}, {1, 0, 0, 0, 0}, {5, 4, 3, 2, 1e-6}, {3}}) {
    const NewtonMeasures measures = measures_of(values, 1e-6);
    const NewtonStart start = newton_start(form, measures);
    EXPECT_LE(values[0] * start.z, 1 + 1e-7);
    EXPECT_GE(start.z, (1 - 1e-7) / std::sqrt(measures.squares));
    EXPECT_DOUBLE_EQ(start.low, std::pow(1e-6 * start.z, 0.25));
  }
  EXPECT_GT(newton_start(form, measures_of({-1, -1, -1, -1}, 1e-6)).z, 0);
  EXPECT_EQ(newton_start(form, measures_of({1, 1}, 0)).low, std::pow(kSmallestRatio, 0.25));
  EXPECT_EQ(newton_start(form, measures_of({1, 1}, 2)).low, 1);
}

TEST(InverseRoot, NewtonByTheSeedsRulesStartsAtItsScale) {
  const NewtonStart start = newton_start({4, false, true}, measures_of({1, 1, 1, 1}, 1e-6));
  EXPECT_EQ(start.z, 5.0 / 4);
  EXPECT_EQ(start.low, 1);
}

TEST(InverseRoot, AnExtensionCountsAsRowsOfTheMatrix) {
  for (const bool source_steps : {false, true}) {
    NewtonMeasures extended = measures_of({5, 4}, 1e-6);
    extended.padding = 3;
    extended.pad = 0.5;
    const NewtonStart found = newton_start({4, true, source_steps}, extended);
    const NewtonStart expected = newton_start({4, false, source_steps}, measures_of({5, 4, 0.5, 0.5, 0.5}, 1e-6));
    EXPECT_EQ(found.z, expected.z);
    EXPECT_EQ(found.low, expected.low);
    EXPECT_DOUBLE_EQ(found.pad, 0.5 * found.z);
  }
}

TEST(InverseRoot, AnEstimateOfTheSmallestEigenvalueIsBelievedWhereItIsNotSmall) {
  NewtonMeasures measures = measures_of({1}, 0.001);
  measures.largest = 1;
  const auto least = [&](double smallest) {
    measures.smallest = smallest;
    return newton_least(measures);
  };
  EXPECT_DOUBLE_EQ(least(0.3), 0.101);
  EXPECT_EQ(least(0.03), 0.001);
  EXPECT_EQ(least(-0.3), 0.001);
  EXPECT_EQ(least(kNan), 0.001);
}

}  // namespace
}  // namespace gradstep::kernels
