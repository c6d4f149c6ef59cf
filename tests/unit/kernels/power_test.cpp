// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/power.h"

#include <cmath>

#include "unit/support.h"

namespace gradstep::test {
namespace {

using kernels::Power;

TEST(Power, AgreesWithPowAndKeepsItsBitsWhateverWasAskedBefore) {
  for (const double base : {0.9, 0.999, 0.0, 0.5}) {
    Power sequential;
    for (std::int64_t n = 0; n < 3000; ++n) {
      Power fresh;
      const double value = sequential(base, n);
      EXPECT_EQ(value, fresh(base, n)) << base << "^" << n;
      // Squaring doubles the relative error of each factor: about n ulp at most.
      EXPECT_NEAR(value, std::pow(base, static_cast<double>(n)), 1e-12 * std::pow(base, static_cast<double>(n)));
    }
    for (const std::int64_t n : {1000000LL, 5LL, 123456789LL, 0LL, 4096LL}) {
      Power fresh;
      EXPECT_EQ(sequential(base, n), fresh(base, n));
    }
  }
}

TEST(Power, AChangedBaseStartsAfresh) {
  Power power;
  power(0.9, 1000);
  Power fresh;
  EXPECT_EQ(power(0.8, 999), fresh(0.8, 999));
}

}  // namespace
}  // namespace gradstep::test
