// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/column_code.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace gradstep::kernels {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(ColumnCode, IsRoundedHalfToEvenAndStaysWithinTheLargest) {
  EXPECT_EQ(column_code<std::int8_t>(2.5F, 1), 2);
  EXPECT_EQ(column_code<std::int8_t>(-3.5F, 1), -4);
  EXPECT_EQ(column_code<std::int8_t>(3, 0.5F), 6);
  EXPECT_EQ(column_code<std::int8_t>(1000, 1), 127);
  EXPECT_EQ(column_code<std::int8_t>(-1000, 1), -127);
  EXPECT_EQ(column_code<std::int16_t>(-1e6F, 1), -32767);
}

TEST(ColumnCode, IsZeroWhereTheColumnHasNoScale) {
  for (const float bucket : {0.0F, kNan}) EXPECT_EQ(column_code<std::int16_t>(5, bucket), 0);
  EXPECT_EQ(column_code<std::int16_t>(5, std::numeric_limits<float>::denorm_min()), 0);  // the quotient is infinite
}

TEST(ColumnCode, ANanStaysTheLargestMagnitude) {
  EXPECT_EQ(larger_magnitude(2, -3), 3);
  EXPECT_EQ(larger_magnitude(3, 2), 3);
  EXPECT_EQ(larger_magnitude(3, -kInfinity), kInfinity);
  EXPECT_NE(larger_magnitude(3, kNan), larger_magnitude(3, kNan));
  EXPECT_NE(larger_magnitude(kNan, 4), larger_magnitude(kNan, 4));
}

}  // namespace
}  // namespace gradstep::kernels
