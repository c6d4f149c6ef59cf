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

constexpr std::int32_t kExponents[] = {1, 2, 4, 6, 8, 16};

constexpr NewtonForm kForm{.exponent = 4, .rows = 1};
constexpr NewtonForm kSource{.exponent = 4, .rows = 1, .source_steps = true};

/// Rungs that make nothing larger: what is looked at here is when steps end.
NewtonLadder ladder_of_closing_steps(std::int32_t rungs) {
  NewtonLadder ladder;
  for (ladder.count = 0; ladder.count < rungs; ++ladder.count) {
    ladder.steps[ladder.count] = closing_step(kForm.exponent);
    ladder.least[ladder.count] = 0;
  }
  return ladder;
}

/// Where coupled Newton ends whose M has these distances from I.
template <class T = double>
NewtonState run(const NewtonForm& form, std::initializer_list<double> distances, std::int32_t rungs = 0) {
  const NewtonLadder ladder = ladder_of_closing_steps(rungs);
  const auto measured = [&](double distance) { return form.source_steps ? distance : distance * distance; };
  const double* next = distances.begin();
  NewtonState state = begin_newton(form, measured(*next++), {.rungs = rungs});
  while (goes_on<T>(form, ladder, state) && !state.is_last && next != distances.end()) {
    end_iteration(form, measured(*next++), state);
  }
  return state;
}

TEST(InverseRoot, ARidgeIsMadeFromNoLessThanTheSmallestEigenvalue) {
  EXPECT_EQ(root_ridge(0.5, false, 8), 4);
  EXPECT_EQ(root_ridge(0.5, false, 0), 0.5 * kSmallestEigenvalue);
  EXPECT_EQ(root_ridge(0.5, false, -8), 0.5 * kSmallestEigenvalue);
  EXPECT_TRUE(std::isnan(root_ridge(0.5, false, kNan)));
}

TEST(InverseRoot, AnAbsoluteRidgeIsMadeFromNoEigenvalue) {
  for (const double largest : {8.0, 0.0, -8.0}) EXPECT_EQ(root_ridge(0.5, true, largest), 0.5);
  EXPECT_TRUE(std::isnan(root_ridge(0.5, true, kNan)));
}

TEST(InverseRoot, DampedEigenvaluesBelowHalfTheRidgeCountAsThat) {
  EXPECT_EQ(root_eigenvalue(15, 1, 4), 0.5);
  EXPECT_EQ(root_eigenvalue(-0.25, 1, 1), 1 / 0.75);
  EXPECT_EQ(root_eigenvalue(-15, 0.125, 4), 2);
  EXPECT_EQ(raise_of_eigenvalue(15, 1), 0);
  EXPECT_EQ(raise_of_eigenvalue(-0.25, 1), 0);
  EXPECT_EQ(raise_of_eigenvalue(-15, 1), 14.5);
}

TEST(InverseRoot, NewtonClosesWhenNothingIsFarFromOne) {
  const NewtonState state = run(kForm, {0.5, 0.1, 1e-4, 1e-12, 1e-12});
  EXPECT_TRUE(state.is_last);
  EXPECT_EQ(state.iterations, 3);
  EXPECT_DOUBLE_EQ(state.error, 1.25 * 2.25 / 6 * 1e-12);
  EXPECT_EQ(state.step.constant, closing_step(4).constant);
  EXPECT_FALSE(run(kForm, {0.5, 2e-3}).is_last);
  // As a mean over the rows: all together may be away by as much.
  NewtonForm form = kForm;
  form.rows = 3;
  form.padding = 13;
  EXPECT_TRUE(run(form, {0.5, 3.9e-3}).is_last);
  EXPECT_FALSE(run(form, {0.5, 4.1e-3}).is_last);
}

TEST(InverseRoot, NewtonClosesBeforeItHasTakenAllRungsWhereNoneIsNeeded) {
  const NewtonState state = run(kForm, {0.5, 1e-4}, 5);
  EXPECT_TRUE(state.is_last);
  EXPECT_EQ(state.iterations, 2);
}

TEST(InverseRoot, NewtonByTheSeedsRulesStopsAtTheirTolerance) {
  const NewtonState state = run(kSource, {0.5, 0.1, 2e-6, 1e-7, 1e-14});
  EXPECT_EQ(state.iterations, 3);
  EXPECT_EQ(state.error, 1e-7);
  EXPECT_FALSE(state.is_last);
  EXPECT_EQ(run<float>(kSource, {0.5, 0.1, 2e-6, 1e-7, 1e-14}).iterations, 2);
}

TEST(InverseRoot, NewtonTakesThePreviousIterateAfterThreeRises) {
  const NewtonState state = run(kForm, {0.1, 0.2, 0.1, 0.2, 0.3, 0.4, 0.5});
  EXPECT_TRUE(state.takes_previous);
  EXPECT_EQ(state.iterations, 5);
  EXPECT_TRUE(run(kForm, {0.5, kNan, 0.1}).takes_previous);
}

TEST(InverseRoot, NewtonOfWhatIsNotFiniteHasNoError) { EXPECT_TRUE(std::isnan(run(kForm, {kNan, kNan}).error)); }

TEST(InverseRoot, NewtonByTheSeedsRulesTakesItAfterOneRiseByAFifth) {
  EXPECT_FALSE(run(kSource, {0.5, 0.55}).takes_previous);
  EXPECT_TRUE(run(kSource, {0.5, 0.65}).takes_previous);
  EXPECT_TRUE(run(kSource, {0.5, kNan}).takes_previous);
}

TEST(InverseRoot, NewtonForgivesRisesWhileItTakesRungs) {
  EXPECT_FALSE(run(kForm, {0.5, 0.6, 0.7, 0.8}, 4).takes_previous);
  EXPECT_TRUE(run(kForm, {0.5, 0.6, 0.7, 0.8}).takes_previous);
}

TEST(InverseRoot, NewtonEndsAtItsLastIteration) {
  for (const NewtonForm& form : {kForm, kSource}) {
    const NewtonLadder ladder;
    NewtonState state = begin_newton(form, 0.5, {});
    while (goes_on<double>(form, ladder, state)) end_iteration(form, 0.5, state);
    EXPECT_EQ(state.iterations, kMaxRootIterations);
    EXPECT_FALSE(state.takes_previous);
  }
}

// In one dimension it is an iteration for m alone, which ends at 1: m <- m q(m)^p, by the source m ((p + 1 - m) / p)^p.
TEST(InverseRoot, AnExtensionIsFollowedToTheIdentity) {
  for (const bool source_steps : {false, true}) {
    const NewtonForm form{.exponent = 2, .rows = 1, .padding = 4, .source_steps = source_steps};
    const NewtonLadder ladder;
    NewtonState state = begin_newton(form, 0, {.pad = 0.5});
    EXPECT_EQ(state.error, source_steps ? 0.5 : 1);
    ASSERT_TRUE(goes_on<double>(form, ladder, state));
    end_iteration(form, 0, state);
    const double factor = source_steps ? 1.25 : 1 + 0.5 / 2 + 3.0 / 8 * 0.25;  // of e = 1/2
    EXPECT_DOUBLE_EQ(state.pad, 0.5 * factor * factor);
    while (goes_on<double>(form, ladder, state) && !state.is_last) end_iteration(form, 0, state);
    EXPECT_LT(state.error, 1e-6);
  }
}

TEST(InverseRoot, AStepOfTheSourceIsNewtons) {
  for (const std::int32_t p : kExponents) {
    const NewtonStep step = source_step(p);
    for (const double x : {0.0, 0.5, 1.0}) EXPECT_DOUBLE_EQ(newton_factor(step, x), (p + 1 - x) / p);
    EXPECT_EQ(step.square, 0);
  }
}

TEST(InverseRoot, AClosingStepLeavesTheCube) {
  for (const std::int32_t p : kExponents) {
    EXPECT_NEAR(newton_stepped(p, closing_step(p), 1), 1, 1e-14);
    for (const double error : {1e-2, -1e-2}) {
      const double left = 1 - newton_stepped(p, closing_step(p), 1 - error);
      EXPECT_NEAR(left / closed_error(p, error), 1, 0.03) << p;
    }
  }
}

TEST(InverseRoot, RungsAreThoseThatLeadToOne) {
  NewtonLadder ladder;
  ladder.count = 3;
  for (const std::int32_t k : {0, 1, 2}) ladder.least[k] = std::pow(0.1, k + 1);
  EXPECT_EQ(rungs_of(ladder, 1), 0);
  EXPECT_EQ(rungs_of(ladder, 0.9999), 0);
  EXPECT_EQ(rungs_of(ladder, 0.5), 1);
  EXPECT_EQ(rungs_of(ladder, 0.05), 2);
  EXPECT_EQ(rungs_of(ladder, 0.005), 3);
  EXPECT_EQ(rungs_of(ladder, 0), 3);
  EXPECT_EQ(newton_steps(kForm, ladder, 0.05), 3);
}

TEST(InverseRoot, StepsOfTheSourceAreCountedUntilTheSmallestEigenvalueIsOne) {
  for (const std::int32_t p : kExponents) {
    const NewtonForm form{.exponent = p, .source_steps = true};
    double x = (1 + p) / 2.0 * 1e-7;
    const std::int32_t steps = newton_steps(form, NewtonLadder{}, 1e-7);
    for (std::int32_t k = 0; k < steps; ++k) {
      EXPECT_GT(1 - x, kSourceTolerance<double>) << p << ' ' << k;
      x = newton_stepped(p, source_step(p), x);
    }
    EXPECT_NEAR(x, 1, kSourceTolerance<double>) << p;
  }
  EXPECT_GE(newton_steps(kSource, NewtonLadder{}, 1e-6), 18);
  EXPECT_EQ(newton_steps(kSource, NewtonLadder{}, 0), newton_steps(kSource, NewtonLadder{}, kSmallestRatio));
}

/// The measures of a diagonal matrix D = S + ridge I.
NewtonMeasures measures_of(const std::vector<double>& values, double ridge) {
  NewtonMeasures measures;
  for (const double value : values) {
    measures.trace += value;
    measures.squares += value * value;
  }
  measures.ridge = ridge;
  return measures;
}

NewtonForm form_of(const std::vector<double>& values, bool source_steps = false) {
  return {.exponent = 4, .rows = static_cast<double>(values.size()), .source_steps = source_steps};
}

TEST(InverseRoot, NewtonStartsBelowABoundOfTheLargestEigenvalue) {
  NewtonLadder ladder;
  ladder.count = 2;
  ladder.least[0] = 1e-3;
  for (const std::vector<double>& values :
       {std::vector<double>{1, 1, 1, 1}, {1, 0, 0, 0, 0}, {5, 4, 3, 2, 1e-6}, {3}}) {
    const NewtonMeasures measures = measures_of(values, 1e-6);
    const NewtonStart start = newton_start(form_of(values), ladder, measures);
    EXPECT_LE(values[0] * start.z, 1 + 1e-7);
    EXPECT_GE(start.z, (1 - 1e-7) / std::sqrt(measures.squares));
    EXPECT_EQ(start.rungs, 2);
    EXPECT_EQ(start.pad, 1);
  }
  const auto rungs = [&](double ridge) {
    return newton_start(form_of({1, 1}), ladder, measures_of({1, 1}, ridge)).rungs;
  };
  EXPECT_EQ(rungs(0), 2);
  EXPECT_EQ(rungs(0.1), 1);
  EXPECT_EQ(rungs(2), 0);
  EXPECT_GT(newton_start(form_of({1, 1, 1, 1}), ladder, measures_of({-1, -1, -1, -1}, 1e-6)).z, 0);
}

TEST(InverseRoot, NewtonByTheSeedsRulesStartsAtItsScale) {
  const std::vector<double> ones = {1, 1, 1, 1};
  const NewtonStart start = newton_start(form_of(ones, /*source_steps=*/true), NewtonLadder{}, measures_of(ones, 1e-6));
  EXPECT_EQ(start.z, 5.0 / 4);
  EXPECT_EQ(start.rungs, 0);
}

TEST(InverseRoot, AnExtensionCountsAsRowsOfTheMatrix) {
  NewtonLadder ladder;
  ladder.count = 1;
  for (const bool source_steps : {false, true}) {
    NewtonMeasures extended = measures_of({5, 4}, 1e-6);
    extended.pad = 0.5;
    NewtonForm form = form_of({5, 4}, source_steps);
    form.padding = 3;
    const std::vector<double> values = {5, 4, 0.5, 0.5, 0.5};
    const NewtonStart found = newton_start(form, ladder, extended);
    const NewtonStart expected = newton_start(form_of(values, source_steps), ladder, measures_of(values, 1e-6));
    EXPECT_EQ(found.z, expected.z);
    EXPECT_EQ(found.rungs, expected.rungs);
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
