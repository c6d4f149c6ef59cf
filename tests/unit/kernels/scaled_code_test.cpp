// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Formats against their definitions, written here in real numbers. (PyTorch's and JAX's: tests/python/test_reducer.py;
// loops of all instruction sets: tests/unit/cpu/coded_numbers_test.cpp.)
#include "kernels/scaled_code.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace gradstep::kernels {
namespace {

/// The number that code has by table 1 of OFP8: s.e.f is (-1)^s 2^(e - bias) (1 + f), or 2^(1 - bias) f where e is 0.
double number_of_ofp8(std::uint32_t code, int exponent_bits, int bias) {
  const int significand_bits = 7 - exponent_bits;
  const auto exponent = static_cast<int>((code & 0x7fU) >> significand_bits);
  const double fraction = std::ldexp(code & ((1U << significand_bits) - 1U), -significand_bits);
  const double magnitude = exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias);
  return code < 128 ? magnitude : -magnitude;
}

/// Codes by their numbers, from 0 to the largest, which is where infinities and NaNs begin.
std::vector<double> numbers_of_e4m3() {
  std::vector<double> numbers;
  for (std::uint32_t code = 0; code < 0x7fU; ++code) numbers.push_back(number_of_ofp8(code, 4, 7));
  return numbers;
}
std::vector<double> numbers_of_e5m2() {
  std::vector<double> numbers;
  for (std::uint32_t code = 0; code < 0x7cU; ++code) numbers.push_back(number_of_ofp8(code, 5, 15));
  return numbers;
}
std::vector<double> numbers_of_int4() { return {0, 1, 2, 3, 4, 5, 6, 7}; }

template <class Format>
float decoded(std::uint32_t code) {
  return float_of(Format::decode(code));
}

/// `negative(code)` is the code of the number with the other sign.
template <class Format, class Negative>
void expect_nearest(const std::vector<double>& numbers, Negative negative) {
  EXPECT_EQ(numbers.back(), static_cast<double>(Format::kLargest));
  const auto expect_code = [&](double x, std::size_t code) {
    ASSERT_EQ(Format::encode(bits_of(static_cast<float>(x))), code) << x;
    ASSERT_EQ(Format::encode(bits_of(static_cast<float>(-x))), negative(static_cast<std::uint32_t>(code))) << -x;
  };
  for (std::size_t code = 0; code < numbers.size(); ++code) {
    ASSERT_EQ(static_cast<double>(decoded<Format>(static_cast<std::uint32_t>(code))), numbers[code]);
    ASSERT_EQ(static_cast<double>(decoded<Format>(negative(static_cast<std::uint32_t>(code)))), -numbers[code]);
    expect_code(numbers[code], code);
    if (code + 1 == numbers.size()) continue;
    const double tie = (numbers[code] + numbers[code + 1]) / 2;
    expect_code(tie, code + code % 2);
    expect_code(static_cast<double>(std::nextafter(static_cast<float>(tie), 0.0F)), code);
    expect_code(static_cast<double>(std::nextafter(static_cast<float>(tie), 1e9F)), code + 1);
  }
  expect_code(numbers.back() * (1 + 0x1p-22), numbers.size() - 1);  // what a rounded inverse may make of the largest
  expect_code(1e-40, 0);
}

TEST(ScaledCode, FormatsAreTheirDefinitionsAndRoundToEven) {
  const auto with_sign = [](std::uint32_t code) { return code | 0x80U; };
  expect_nearest<E4M3>(numbers_of_e4m3(), with_sign);
  expect_nearest<E5M2>(numbers_of_e5m2(), with_sign);
  expect_nearest<Int4>(numbers_of_int4(), [](std::uint32_t code) { return (16 - code) % 16; });
}

TEST(ScaledCode, LargestNumbersOfFormats) {
  EXPECT_EQ(E4M3::kLargest, 448);
  EXPECT_EQ(E5M2::kLargest, 57344);
  EXPECT_EQ(number_of_ofp8(1, 4, 7), 0x1p-9);
  EXPECT_EQ(number_of_ofp8(1, 5, 15), 0x1p-16);
}

/// docs/gradient_sync.md: the largest is kept, but for roundings; what is left out of others is half a cell at most.
template <class Format>
void expect_scaled(double smallest_cell, double relative_cell) {
  std::mt19937 generator(3);
  std::uniform_real_distribution<double> share(-1, 1);
  for (const float largest : {1.0F, 3.0F, 1e-20F, 0.7e-25F, 1e20F, 3.3e38F}) {
    const ScaledCode<Format> code(ScaledCode<Format>::factor_of(largest));
    EXPECT_FLOAT_EQ(float_of(code.decode(code.encode(bits_of(largest)))), largest);
    EXPECT_FLOAT_EQ(float_of(code.decode(code.encode(bits_of(-largest)))), -largest);
    for (int i = 0; i < 20000; ++i) {
      const auto x = static_cast<float>(share(generator) * static_cast<double>(largest));
      const double found = static_cast<double>(float_of(code.decode(code.encode(bits_of(x)))));
      const double cell = static_cast<double>(largest) * smallest_cell;
      ASSERT_NEAR(found, x, std::max(cell, std::abs(static_cast<double>(x)) * relative_cell) / 2 * (1 + 1e-5)) << x;
    }
  }
}

TEST(ScaledCode, WhatIsLostIsHalfACellAtMost) {
  expect_scaled<Int4>(1.0 / 7, 0);
  expect_scaled<E4M3>(0x1p-9 / 448, 1.0 / 8);
  expect_scaled<E5M2>(0x1p-16 / 57344, 1.0 / 4);
}

template <class Format>
void expect_tiny_blocks_are_zero() {
  using Code = ScaledCode<Format>;
  const float bound = Format::kLargest * 0x1p-100F;
  EXPECT_EQ(Code::factor_of(bound), 0x1p-100F);
  for (const float largest : {std::nextafter(bound, 0.0F), 1e-40F, std::numeric_limits<float>::denorm_min(), 0.0F}) {
    EXPECT_EQ(Code::factor_of(largest), 0) << largest;
    const Code code(0);
    EXPECT_EQ(float_of(code.decode(code.encode(bits_of(largest)))), 0);
    EXPECT_EQ(float_of(code.decode(code.encode(bits_of(-largest)))), 0);
  }
}

TEST(ScaledCode, BlocksBelowTheBoundAreZeros) {
  expect_tiny_blocks_are_zero<Int4>();
  expect_tiny_blocks_are_zero<E4M3>();
  expect_tiny_blocks_are_zero<E5M2>();
}

TEST(ScaledCode, BytesOf256Numbers) {
  EXPECT_EQ(coded_bytes(NumberCode::octaves), 256 + 4);
  EXPECT_EQ(coded_bytes(NumberCode::e4m3), 256 + 4);
  EXPECT_EQ(coded_bytes(NumberCode::e5m2), 256 + 4);
  EXPECT_EQ(coded_bytes(NumberCode::int4), 128 + 4 * 4);
}

}  // namespace
}  // namespace gradstep::kernels
