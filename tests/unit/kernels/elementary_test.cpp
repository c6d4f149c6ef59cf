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

/// Beside the C library's, for what is at the ends of the range as well.
TEST(Elementary, LogarithmsAndPowersOfAnyNumbersAreThoseOfTheCLibrary) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double numbers[] = {0, -0.0,   1,   -1,    2,         -2,         0.5,         -0.5,
                            3, 1e-310, 700, 1e300, kInfinity, -kInfinity, std::nan("")};
  const auto expect_near = [](double found, double expected, double x, double y) {
    if (std::isnan(expected) || std::isinf(expected)) {
      EXPECT_TRUE(std::isnan(expected) ? std::isnan(found) : found == expected) << x << " " << y << ": " << found;
    } else {
      // Powers have the error of their logarithm, at most 710. What is below the normal numbers may be 0.
      EXPECT_NEAR(found, expected, 710 * 0x1p-52 * std::abs(expected) + std::numeric_limits<double>::min())
          << x << " " << y;
    }
  };
  for (const double x : numbers) {
    expect_near(kernels::logarithm_of_any(x), std::log(x), x, 0);
    for (const double y : numbers) expect_near(kernels::power_of_any(x, y), std::pow(x, y), x, y);
  }
}

}  // namespace
}  // namespace gradstep::kernels
