// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The code against its definition in docs/numerics.md, written here in real numbers. (Loops of all instruction sets:
// tests/unit/cpu/stored_state_test.cpp.)
#include "kernels/block_code.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/stored.h"

namespace gradstep::kernels {
namespace {

/// The logarithm of 2 that a float's bits are: exact at powers of two, a straight line between them; and its inverse.
double line_log2(double x) {
  int exponent = 0;
  const double significand = std::frexp(x, &exponent);
  return exponent - 1 + (2 * significand - 1);
}
double line_exp2(double x) { return std::ldexp(1 + (x - std::floor(x)), static_cast<int>(std::floor(x))); }

/// The definition: positions of a magnitude's code, and what codes stand for.
struct Definition {
  double codes;  ///< of magnitudes other than zero
  double cells;  ///< in a doubling of the distance
  double added;  ///< octaves
  double largest;
  double zero_distance = distance_of(0);
  double floor = line_exp2(line_log2(largest) - zero_distance);

  double position(double distance) const { return codes - cells * (line_log2(distance + added) - line_log2(added)); }
  double distance_of(double code) const { return line_exp2(line_log2(added) + (codes - code) / cells) - added; }
  double number(double code) const { return line_exp2(line_log2(largest) - distance_of(code)) - floor; }
  double position_of_number(double x) const { return position(line_log2(largest) - line_log2(x + floor)); }
};

template <bool kSigned>
Definition definition(double largest) {
  return kSigned ? Definition{.codes = 127, .cells = 32, .added = 1.75, .largest = largest}
                 : Definition{.codes = 255, .cells = 64, .added = 2, .largest = largest};
}

constexpr std::array kLargestNumbers = {1.0F, 1.9999999F, 0.3F, 3.0F, 1e-20F, 2e-29F, 1e20F, 3.4e38F};

template <bool kSigned>
float decoded(float largest, std::uint32_t code) {
  return float_of(BlockCode<kSigned>(largest).decode(code));
}

template <bool kSigned>
std::uint32_t encoded(float largest, float x) {
  return BlockCode<kSigned>(largest).encode(bits_of(x));
}

template <bool kSigned>
void expect_numbers_of_the_definition() {
  for (const float largest : kLargestNumbers) {
    const Definition reference = definition<kSigned>(static_cast<double>(largest));
    for (std::uint32_t code = 0; code <= BlockCode<kSigned>::kLargest; ++code) {
      const double expected = reference.number(code);
      // The distance is an integer, 2^-23 of an octave each, and what is subtracted rounds once.
      const double last_places = 0x1p-22 * (expected + reference.floor);
      ASSERT_NEAR(static_cast<double>(decoded<kSigned>(largest, code)), expected, last_places)
          << largest << ' ' << code;
    }
  }
}

template <bool kSigned>
void expect_subnormals_to_be_zeros() {
  for (const float factor : {kCodesSubnormalAsZero, 2 * kCodesSubnormalAsZero, 1.0F}) {
    for (const float x : {std::numeric_limits<float>::denorm_min(), 0x1.fffffcp-127F}) {
      EXPECT_EQ(encoded<kSigned>(factor, x), encoded<kSigned>(factor, 0.0F));
      EXPECT_EQ(encoded<kSigned>(factor, -x), encoded<kSigned>(factor, -0.0F));
    }
  }
}

TEST(BlockCode, SubnormalNumbersAreZerosWhereTheFactorIsFarAboveThem) {
  expect_subnormals_to_be_zeros<true>();
  expect_subnormals_to_be_zeros<false>();
}

TEST(BlockCode, HasTheNumbersOfItsDefinition) {
  expect_numbers_of_the_definition<true>();
  expect_numbers_of_the_definition<false>();
}

template <bool kSigned>
void expect_kept_codes() {
  for (const float largest : kLargestNumbers) {
    EXPECT_EQ(bits_of(decoded<kSigned>(largest, 0)), 0U) << "zero is zero";
    EXPECT_EQ(decoded<kSigned>(largest, BlockCode<kSigned>::kLargest), largest) << "the largest is kept exactly";
    for (std::uint32_t code = 0; code < 256; ++code) {
      ASSERT_EQ(encoded<kSigned>(largest, decoded<kSigned>(largest, code)), code) << largest;
      if (code == 0 || (kSigned && code == 128)) continue;
      const bool negative = kSigned && code > 128;
      const float below = decoded<kSigned>(largest, code - 1);
      const float here = decoded<kSigned>(largest, code);
      ASSERT_TRUE(negative ? here < below : here > below) << largest << ' ' << code;
    }
  }
}

TEST(BlockCode, CodesAreKeptAndTheirNumbersAscend) {
  expect_kept_codes<true>();
  expect_kept_codes<false>();
}

template <bool kSigned>
void expect_nearest() {
  std::mt19937 generator(5);
  std::uniform_real_distribution<double> octaves(-36, 0);
  for (const float largest : kLargestNumbers) {
    const Definition reference = definition<kSigned>(static_cast<double>(largest));
    for (int i = 0; i < 20000; ++i) {
      const auto x = static_cast<float>(static_cast<double>(largest) * std::exp2(octaves(generator)));
      const std::uint32_t code = encoded<kSigned>(largest, x);
      // Half a cell, and the rounding of the float that is encoded: 2^-24 of what is at most 28 octaves.
      ASSERT_NEAR(code, reference.position_of_number(static_cast<double>(x)), 0.5 + 1e-4) << largest << ' ' << x;
      ASSERT_EQ(encoded<true>(largest, -x), encoded<true>(largest, x) | 128U);
      // Cells next to one another may be one twice as wide as the other.
      const double below = code == 0 ? 0 : static_cast<double>(decoded<kSigned>(largest, code - 1));
      const std::uint32_t above = std::min(code + 1, BlockCode<kSigned>::kLargest);
      const double gap = static_cast<double>(decoded<kSigned>(largest, above)) - below;
      ASSERT_LE(std::abs(static_cast<double>(decoded<kSigned>(largest, code)) - static_cast<double>(x)), gap * 0.51);
    }
  }
}

TEST(BlockCode, EncodesTheNearestNumber) {
  expect_nearest<true>();
  expect_nearest<false>();
}

/// docs/numerics.md: from that many octaves below the largest on, at most this part of the number is lost.
struct Bound {
  double from;
  double to;
  double error;
};

template <bool kSigned>
void expect_errors(const std::vector<Bound>& bounds) {
  for (const Bound& bound : bounds) {
    double worst = 0;
    for (const float largest : kLargestNumbers) {
      for (int i = 1; i < 20000; ++i) {
        const double distance = bound.from + (bound.to - bound.from) * i / 20000;
        const auto x = static_cast<float>(line_exp2(line_log2(static_cast<double>(largest)) - distance));
        const float back = decoded<kSigned>(largest, encoded<kSigned>(largest, x));
        worst = std::max(worst, std::abs(static_cast<double>(back - x)) / static_cast<double>(x));
      }
    }
    // What `floor` shares of the number, and where a cell lies across a bound, its width.
    EXPECT_LE(worst, bound.error * 1.02) << bound.from;
    EXPECT_GE(worst, bound.error * 0.75) << bound.from;
  }
}

TEST(BlockCode, ErrorsGrowWithTheDistanceFromTheLargest) {
  expect_errors<true>({{0, 0.25, 1.0 / 64}, {0.25, 2.25, 1.0 / 32}, {2.25, 6.25, 1.0 / 16}, {6.25, 14.25, 1.0 / 8}});
  expect_errors<false>({{0, 2, 1.0 / 64}, {2, 6, 1.0 / 32}, {6, 14, 1.0 / 16}, {14, 24, 1.0 / 8}});
}

// Below 2^-99 (without signs 2^-95) a block is coded as if that were its largest: what is lost of a number is then a
// part of that, not of the number.
TEST(BlockCode, TinyBlocksAreCodedInTheRangeOfNormalNumbers) {
  for (const float largest : {1e-30F, 1e-38F, 1e-41F, std::numeric_limits<float>::denorm_min()}) {
    for (const float part : {1.0F, 0.5F, 0.01F}) {
      const float x = largest * part;
      EXPECT_NEAR(decoded<true>(largest, encoded<true>(largest, -x)), -x, x / 4 + 0x1p-127F) << largest;
      EXPECT_NEAR(decoded<false>(largest, encoded<false>(largest, x)), x, x / 8 + 0x1p-127F) << largest;
    }
    EXPECT_EQ(decoded<true>(largest, 0), 0);
  }
  EXPECT_EQ(encoded<true>(0.0F, 0.0F), 0U) << "a block of zeros";
  EXPECT_EQ(decoded<false>(0.0F, 0), 0);
}

TEST(BlockCode, NumbersThatAreNotFiniteAreCodedAsTheLargestOfTheOthers) {
  std::uint32_t largest = 0;
  for (const std::uint32_t number : {bits_of(-3.0F), 0x7f800000U, 0xff800000U, 0x7fc12345U, bits_of(2.0F)}) {
    take_finite(number, largest);
  }
  EXPECT_EQ(largest, bits_of(3.0F));
  EXPECT_EQ(codable(0x7f800000U, largest), bits_of(3.0F));
  EXPECT_EQ(codable(0xff800000U, largest), bits_of(-3.0F));
  EXPECT_EQ(codable(0x7fc12345U, largest), bits_of(3.0F));
  EXPECT_EQ(codable(bits_of(-2.0F), largest), bits_of(-2.0F));
}

TEST(BlockCode, TheLargestStoredNumberIsKept) {
  EXPECT_EQ(decoded<false>(kLargestStored<float>, 255), kLargestStored<float>);
  EXPECT_EQ(decoded<true>(kLargestStored<float>, 255), -kLargestStored<float>);
}

}  // namespace
}  // namespace gradstep::kernels
