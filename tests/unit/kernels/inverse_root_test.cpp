// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/inverse_root.h"

#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>
#include <limits>

namespace gradstep::kernels {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Where coupled Newton ends whose M has these distances from I.
NewtonState run(const NewtonForm& form, std::initializer_list<double> distances) {
  const double* next = distances.begin();
  NewtonState state = begin_newton(form, *next++, 1);
  while (goes_on<double>(state) && next != distances.end()) end_iteration(form, *next++, state);
  return state;
}

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

TEST(InverseRoot, NewtonEndsAtItsLastIteration) {
  NewtonState state = begin_newton({}, 0.5, 1);
  while (goes_on<double>(state)) end_iteration({}, 0.5, state);
  EXPECT_EQ(state.iterations, kMaxRootIterations);
  EXPECT_FALSE(state.takes_previous);
}

// In one dimension it is Newton's iteration for m: m <- m ((p + 1 - m) / p)^p, which ends at 1.
TEST(InverseRoot, AnExtensionIsFollowedToTheIdentity) {
  const NewtonForm form{2, true, false};
  NewtonState state = begin_newton(form, 0, 0.5);
  EXPECT_EQ(state.error, 0.5);
  end_iteration(form, 0, state);
  EXPECT_EQ(state.pad, 0.5 * 1.25 * 1.25);
  while (goes_on<double>(state)) end_iteration(form, 0, state);
  EXPECT_LT(state.error, 1e-6);
}

}  // namespace
}  // namespace gradstep::kernels
