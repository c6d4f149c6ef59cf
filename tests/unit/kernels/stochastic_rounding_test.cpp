// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Stochastic rounding over all its random numbers, and the bits that these are taken from.
#include "kernels/stochastic_rounding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

namespace gradstep::test {
namespace {

using kernels::BFloat16;
using kernels::Float16;

constexpr std::uint32_t kRandoms = 1U << 16;

template <class Stored>
std::map<double, std::uint32_t> counts_of(float x) {
  std::map<double, std::uint32_t> counts;
  for (std::uint32_t random = 0; random < kRandoms; ++random) {
    ++counts[static_cast<double>(kernels::to_float(kernels::round_stochastically<Stored>(x, random)))];
  }
  return counts;
}

/// The mean over all random numbers. `place` is the distance of the type's numbers about x, of which `steps` differ: x
/// is rounded down to one of those.
template <class Stored>
void expect_exact_mean(float x, double place, double steps) {
  const double exact = static_cast<double>(x);
  double sum = 0;
  const std::map<double, std::uint32_t> counts = counts_of<Stored>(x);
  ASSERT_LE(counts.size(), 2U) << x;
  for (const auto& [value, count] : counts) {
    EXPECT_LT(std::abs(value - exact), place) << x;
    EXPECT_EQ(value, std::round(value / place) * place) << x;
    sum += value * count;
  }
  const double unit = place / steps;
  const double told = std::copysign(std::floor(std::abs(exact) / unit) * unit, exact);
  EXPECT_EQ(sum / kRandoms, told) << x;
}

TEST(StochasticRounding, has_the_number_itself_for_its_mean) {
  for (const float x : {1.0F, 1.0F + 0x1p-20F, 1.3F, 1.99999F, -1.7F, -1.0F - 0x1p-23F}) {
    expect_exact_mean<BFloat16>(x, 0x1p-7, 0x1p16);
    expect_exact_mean<Float16>(x, 0x1p-10, 0x1p13);
  }
  expect_exact_mean<BFloat16>(0x1.23456p-130F, 0x1p-133, 0x1p16);  // subnormal
  for (const float x : {3.1e-5F, -0x1p-24F, 0x1.8p-25F, 0x1.234568p-20F, 0x1p-40F}) {
    expect_exact_mean<Float16>(x, 0x1p-24, 0x1p16);
  }
}

TEST(StochasticRounding, leaves_what_the_type_holds_or_cannot_hold) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float x : {0.0F, -0.0F, 0.5F, -3.0F, infinity, -infinity}) {
    for (const auto& counts : {counts_of<BFloat16>(x), counts_of<Float16>(x)}) {
      ASSERT_EQ(counts.size(), 1U) << x;
      EXPECT_EQ(counts.begin()->first, static_cast<double>(x));
    }
  }
  for (std::uint32_t random = 0; random < kRandoms; ++random) {
    const float nan = kernels::float_of(0x7fffffffU);
    EXPECT_TRUE(std::isnan(kernels::to_float(kernels::round_stochastically<BFloat16>(nan, random))));
    EXPECT_TRUE(std::isnan(kernels::to_float(kernels::round_stochastically<Float16>(-nan, random))));
  }
  // Beyond the largest number: to nearest, which is infinity from half a place on.
  EXPECT_EQ(counts_of<Float16>(65519.0F).begin()->first, 65504.0);
  EXPECT_EQ(counts_of<Float16>(65519.0F).size(), 1U);
  EXPECT_EQ(counts_of<Float16>(-65520.0F).begin()->first, static_cast<double>(-infinity));
  EXPECT_EQ(counts_of<BFloat16>(kernels::float_of(0x7f7f7fffU)).rbegin()->first, 0x1.fep127);
  EXPECT_EQ(counts_of<BFloat16>(kernels::float_of(0x7f7f8000U)).begin()->first, static_cast<double>(infinity));
}

/// The 16 bits of each element of the blocks from `first` on.
std::vector<std::uint32_t> bits_of_blocks(std::uint64_t key, std::int64_t step, int stream, std::int64_t first) {
  constexpr int kBlocks = 256;
  std::vector<std::uint32_t> all;
  for (int block = 0; block < kBlocks; ++block) {
    const kernels::RoundingBits bits(key, step, first + block * kernels::kCodeBlock);
    std::vector<std::uint32_t> words;
    for (std::uint32_t i = 0; i < kernels::RoundingBits::kHalf; ++i) {
      words.push_back(kernels::RoundingBits::word(bits.place(i), bits.stream(stream)));
    }
    for (const std::uint32_t word : words) all.push_back(word & 0xffffU);
    for (const std::uint32_t word : words) all.push_back(word >> 16);
  }
  return all;
}

/// How far a count of n fair coins is from n / 2, in standard deviations.
double deviation(std::int64_t count, std::size_t n) {
  const auto total = static_cast<double>(n);
  return std::abs(static_cast<double>(count) - total / 2) / (std::sqrt(total) / 2);
}

TEST(RoundingBits, are_fair_and_tell_nothing_of_each_other) {
  constexpr double kFarthest = 5;  // of some 300 counts, each with a probability of 6e-7 of being farther
  const std::vector<std::uint32_t> bits = bits_of_blocks(7, 3, 0, 0);
  const std::int64_t beyond = std::int64_t{1} << 33;
  const std::vector<std::vector<std::uint32_t>> others = {
      bits_of_blocks(8, 3, 0, 0), bits_of_blocks(7, 4, 0, 0),      bits_of_blocks(7, 3, 1, 0),
      bits_of_blocks(7, 3, 2, 0), bits_of_blocks(7, 3, 0, beyond),
  };
  std::vector<std::uint32_t> neighbours(bits.begin() + 1, bits.end());
  neighbours.push_back(bits.front());
  std::vector<std::uint32_t> half_a_block(bits.begin() + kernels::RoundingBits::kHalf, bits.end());
  half_a_block.insert(half_a_block.end(), bits.begin(), bits.begin() + kernels::RoundingBits::kHalf);
  for (int bit = 0; bit < 16; ++bit) {
    const auto is_set = [bit](std::uint32_t x) { return (x >> bit & 1U) != 0; };
    EXPECT_LT(deviation(std::count_if(bits.begin(), bits.end(), is_set), bits.size()), kFarthest) << bit;
    const auto expect_apart = [&](const std::vector<std::uint32_t>& other) {
      std::int64_t equal = 0;
      for (std::size_t i = 0; i < bits.size(); ++i) equal += is_set(bits[i]) == is_set(other[i]) ? 1 : 0;
      EXPECT_LT(deviation(equal, bits.size()), kFarthest) << bit;
    };
    for (const std::vector<std::uint32_t>& other : others) expect_apart(other);
    expect_apart(neighbours);
    expect_apart(half_a_block);
  }
}

}  // namespace
}  // namespace gradstep::test
