// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/elementary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace gradstep::kernels {
namespace {

constexpr double kTolerance = 8 * std::numeric_limits<double>::epsilon();

TEST(Elementary, ExponentialIsTheCLibrarysButForRounding) {
  for (double x = -700; x < 700; x += 0.37) EXPECT_NEAR(exponential(x) / std::exp(x), 1, kTolerance) << x;
  EXPECT_EQ(exponential(0), 1);
  EXPECT_EQ(exponential(-1000), 0);
  EXPECT_EQ(exponential(1000), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(exponential(std::numeric_limits<double>::quiet_NaN())));
}

TEST(Elementary, LogarithmIsTheCLibrarysButForRounding) {
  for (double x = 1e-300; x < 1e300; x *= 1.7) {
    EXPECT_NEAR(logarithm(x), std::log(x), kTolerance * std::abs(std::log(x))) << x;
  }
  for (const double x : {0.5, 0.9, 0.96, 0.999, 0.9999, 1.0, 1.0001, 1.5, 2.0}) {
    EXPECT_NEAR(logarithm(x), std::log(x), kTolerance * std::abs(std::log(x))) << x;
  }
}

}  // namespace
}  // namespace gradstep::kernels
