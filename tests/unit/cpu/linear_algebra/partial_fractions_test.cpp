// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/linear_algebra/partial_fractions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace gradstep::cpu {
namespace {

using Accuracy = PartialFractions::Accuracy;

/// The largest relative error between `smallest` and `largest`.
double worst_error(const PartialFractions& fractions, std::int32_t exponent, double smallest, double largest) {
  constexpr int kPoints = 500;
  long double worst = 0;
  for (int i = 0; i <= kPoints; ++i) {
    const long double x = smallest * std::pow(static_cast<long double>(largest) / smallest, i / 500.0L);
    long double sum = 0;
    for (std::size_t k = 0; k < fractions.shifts().size(); ++k) {
      sum += fractions.weights()[k] / (x + fractions.shifts()[k]);
    }
    worst = std::max(worst, std::abs(sum * std::pow(x, 1.0L / exponent) - 1));
  }
  return static_cast<double>(worst);
}

TEST(PartialFractions, AreTheInverseRootToTheAccuracyThatIsAskedFor) {
  PartialFractions fractions;
  for (const std::int32_t exponent : {1, 2, 3, 4, 5, 6, 8, 16, 64}) {
    for (const double condition : {1.0, 1.01, 10.0, 1e3, 2e6, 1e10, 1e14}) {
      for (const double smallest : {1e-12, 1.0, 1e20}) {
        const std::string which = std::to_string(exponent) + ' ' + std::to_string(condition);
        fractions.expand_inverse_root(exponent, smallest, condition * smallest, Accuracy::f64);
        EXPECT_LT(worst_error(fractions, exponent, smallest, condition * smallest), 1e-11) << which;
        fractions.expand_inverse_root(exponent, smallest, condition * smallest, Accuracy::f32);
        EXPECT_LT(worst_error(fractions, exponent, smallest, condition * smallest), 1e-5) << which;
      }
    }
  }
}

TEST(PartialFractions, ArePositiveAndInOrderAndFew) {
  PartialFractions fractions;
  for (const std::int32_t exponent : {1, 2, 4, 64}) {
    fractions.expand_inverse_root(exponent, 1e-6, 1, Accuracy::f64);
    EXPECT_TRUE(std::is_sorted(fractions.shifts().begin(), fractions.shifts().end()));
    EXPECT_GE(fractions.shifts().front(), 0);
    EXPECT_GT(*std::min_element(fractions.weights().begin(), fractions.weights().end()), 0);
    EXPECT_LE(fractions.shifts().size(), 52);
  }
}

}  // namespace
}  // namespace gradstep::cpu
