// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/newton_ladder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace gradstep {
namespace {

using kernels::NewtonLadder;
using kernels::NewtonStep;

constexpr std::int32_t kExponents[] = {1, 2, 3, 4, 6, 8, 16, 128, 1000};

/// f(y) = y q(y^p), as long double to be exact where f64 is asked.
long double stepped(std::int32_t p, const NewtonStep& step, long double y) {
  const long double x = std::pow(y, static_cast<long double>(p));
  return y * (step.constant + x * (step.linear + x * step.square));
}

/// Where the intervals end.
constexpr long double kEnd = 1.001L;

/// f at the ends of [low, kEnd] in y^p, and where its slope is zero between them, in order.
std::vector<long double> extrema_of(std::int32_t p, const NewtonStep& step, long double low) {
  // f' = constant + (p + 1) linear x + (2p + 1) square x^2 of x = y^p.
  const long double square = (2.0L * p + 1) * step.square;
  const long double half = (p + 1.0L) * step.linear / 2;
  const long double root = std::sqrt(half * half - square * step.constant);
  std::vector<long double> places = {low};
  for (const long double x : {(-half - root) / square, (-half + root) / square}) {
    const long double y = std::pow(x, 1 / static_cast<long double>(p));
    if (y > low && x < kEnd) places.push_back(y);
  }
  places.push_back(std::pow(kEnd, 1 / static_cast<long double>(p)));
  for (long double& place : places) place = stepped(p, step, place);
  return places;
}

long double root_of(long double x, std::int32_t p) { return std::pow(x, 1 / static_cast<long double>(p)); }

TEST(NewtonLadder, EachRungLeadsToTheNextAndTheFirstToOne) {
  for (const std::int32_t p : kExponents) {
    const NewtonLadder& ladder = newton_ladder(p);
    ASSERT_GT(ladder.count, 3);
    long double target = 1 - kernels::kClosingDistance;
    for (std::int32_t k = 0; k < ladder.count; ++k) {
      const long double low = root_of(ladder.least[k], p);
      const std::vector<long double> extrema = extrema_of(p, ladder.steps[k], low);
      const auto [least, largest] = std::minmax_element(extrema.begin(), extrema.end());
      EXPECT_NEAR(static_cast<double>(*largest), 1, 1e-12) << p << ' ' << k;
      EXPECT_NEAR(static_cast<double>(stepped(p, ladder.steps[k], low) / root_of(target, p)), 1, 1e-12)
          << p << ' ' << k;
      EXPECT_GT(*least, root_of(target, p) * (1 - 1e-12)) << p << ' ' << k;
      target = ladder.least[k];
    }
    EXPECT_LT(ladder.least[ladder.count - 1], kernels::kSmallestRatio) << p;
  }
}

// Chebyshev: no polynomial of this form leaves less of a spread than one that is four times in turn at its ends.
TEST(NewtonLadder, RungsThatKeepTheAccuracyOfTheLargestAlternate) {
  for (const std::int32_t p : kExponents) {
    const NewtonLadder& ladder = newton_ladder(p);
    for (const std::int32_t k : {0, 1}) {
      const long double low = root_of(ladder.least[k], p);
      const std::vector<long double> extrema = extrema_of(p, ladder.steps[k], low);
      ASSERT_EQ(extrema.size(), 4U) << p << ' ' << k;
      for (const std::size_t i : {0U, 2U}) EXPECT_NEAR(static_cast<double>(extrema[i] / extrema[0]), 1, 1e-10);
      for (const std::size_t i : {1U, 3U}) EXPECT_NEAR(static_cast<double>(extrema[i]), 1, 1e-12);
    }
  }
}

TEST(NewtonLadder, NoRungLosesMoreThanAHundredth) {
  for (const std::int32_t p : kExponents) {
    const NewtonLadder& ladder = newton_ladder(p);
    for (std::int32_t k = 0; k < ladder.count; ++k) {
      const NewtonStep& step = ladder.steps[k];
      const std::vector<long double> extrema = extrema_of(p, step, root_of(ladder.least[k], p));
      const long double dip = *std::min_element(extrema.begin() + 1, extrema.end());
      EXPECT_GT(std::pow(dip, static_cast<long double>(p)), 1e-2 * (1 - 1e-9)) << p << ' ' << k;
      EXPECT_GT(step.constant, 1);
      for (int i = 0; i <= 1000; ++i) EXPECT_GT(newton_factor(step, i / 1000.0), 0) << p << ' ' << k;  // turns no sign
    }
  }
}

TEST(NewtonLadder, AtTheDefaultRidgeSixRungsAreEnough) {
  const NewtonLadder& ladder = newton_ladder(4);
  EXPECT_EQ(rungs_of(ladder, 1e-6), 6);
  EXPECT_EQ(rungs_of(ladder, 0.5), 2);
  EXPECT_EQ(&newton_ladder(4), &ladder);
}

}  // namespace
}  // namespace gradstep
