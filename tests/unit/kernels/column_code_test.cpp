// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/column_code.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <initializer_list>
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
  const auto largest_of = [](std::initializer_list<float> numbers) {
    float largest = 0;
    for (const float x : numbers) take_magnitude(x, largest);
    return largest;
  };
  EXPECT_EQ(largest_of({2, -3, 1}), 3);
  EXPECT_EQ(largest_of({2, -kInfinity, 1}), kInfinity);
  EXPECT_TRUE(std::isnan(largest_of({3, kNan})));
  EXPECT_TRUE(std::isnan(largest_of({kNan, kInfinity, 4})));
}

TEST(ColumnCode, NumbersThatAreNotFiniteWidenNoColumnAndAreZero) {
  float largest = 0;
  for (const float x : {kNan, 2.0F, -kInfinity, -3.0F, kInfinity}) take_finite_magnitude(x, largest);
  EXPECT_EQ(largest, 3);
  for (const float x : {kNan, kInfinity, -kInfinity}) EXPECT_EQ(column_code<std::int8_t>(x, 0.5F), 0);
}

}  // namespace
}  // namespace gradstep::kernels
