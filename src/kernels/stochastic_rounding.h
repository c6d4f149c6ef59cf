// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Stochastic rounding to 16 bits, and the random bits that decide it.
#pragma once

#include <cstdint>

#include "kernels/block_code.h"
#include "kernels/convert.h"
#include "kernels/macros.h"
#include "kernels/random.h"

namespace gradstep::kernels {

/// x rounded up or down, with probabilities that make the expected value x. `random` is one of the numbers below 2^16.
/// Numbers that the type can hold, infinities and NaNs stay as they are; what would round to more than its largest is
/// rounded to nearest.
template <class To>
GRADSTEP_FORMULA To round_stochastically(float x, std::uint32_t random);

template <>
GRADSTEP_FORMULA BFloat16 round_stochastically<BFloat16>(float x, std::uint32_t random) {
  constexpr std::uint32_t kLargest = 0x7f7f0000U;
  const std::uint32_t bits = bits_of(x);
  const auto rounded = static_cast<std::uint16_t>((bits + random) >> 16);
  return {(bits & ~binary32::kSign) >= kLargest ? to_bfloat16(x).bits : rounded};
}

template <>
GRADSTEP_FORMULA Float16 round_stochastically<Float16>(float x, std::uint32_t random) {
  using namespace binary32;
  constexpr std::uint32_t kLargest = 0x477fe000U;  // 65504
  constexpr std::uint32_t kSmallestNormal = power_of_two(-14);
  constexpr std::uint32_t kRebias = static_cast<std::uint32_t>(127 - 15) << 23;
  const std::uint32_t sign = bits_of(x) & kSign;
  const std::uint32_t magnitude = bits_of(x) ^ sign;
  const std::uint32_t normal = (magnitude - kRebias + (random >> 3)) >> 13;
  // Subnormals are multiples of 2^-24: as a fixed-point number with 16 bits behind the point.
  const float small = magnitude < kSmallestNormal ? float_of(magnitude) : 0.0F;
  const std::uint32_t fixed = static_cast<std::uint32_t>(static_cast<std::int32_t>(small * 0x1p40F));
  const std::uint32_t subnormal = (fixed + random) >> 16;
  const std::uint32_t rounded = magnitude < kSmallestNormal ? subnormal : normal;
  return {magnitude >= kLargest ? to_float16(x).bits : static_cast<std::uint16_t>(rounded | sign >> 16)};
}

/// The random bits for the numbers that one step stores of a block of kCodeBlock elements of a parameter. They come in
/// streams: 0 is for the parameter itself, 1 + s for its state s.
struct RoundingBits {
  static constexpr int kHalf = static_cast<int>(kCodeBlock / 2);

  std::uint64_t key;
  std::uint64_t first;

  /// `random_key` is the parameter's; `first_element`, a multiple of kCodeBlock, is where the block begins in it.
  GRADSTEP_FORMULA RoundingBits(std::uint64_t random_key, std::int64_t step, std::int64_t first_element)
      : key(mix64(random_key + static_cast<std::uint64_t>(step) * 0x9e3779b97f4a7c15U)),
        first(static_cast<std::uint64_t>(first_element) / 2) {}

  GRADSTEP_FORMULA std::uint32_t stream(int stream) const {
    return static_cast<std::uint32_t>(
        mix64(key + static_cast<std::uint64_t>(stream) + (first >> 32) * 0x9e3779b97f4a7c15U));
  }

  /// For i < kHalf, the same in all streams.
  GRADSTEP_FORMULA std::uint32_t place(std::uint32_t i) const { return mix32(static_cast<std::uint32_t>(first) + i); }

  /// The lower 16 bits are for element i of the block, the upper ones for element i + kHalf.
  GRADSTEP_FORMULA static std::uint32_t word(std::uint32_t place, std::uint32_t stream) {
    return mix32(place ^ stream);
  }
};

/// How the numbers that a step stores of a tensor are rounded: at random, or, where there is no step, to nearest.
struct TensorRounding {
  std::uint64_t key = 0;  ///< the parameter's
  std::int64_t step = -1;

  GRADSTEP_FORMULA bool is_random() const { return step >= 0; }
  GRADSTEP_FORMULA RoundingBits bits(std::int64_t first_element) const { return {key, step, first_element}; }

  /// Element i of the tensor, wherever it is stored from.
  template <class To>
  GRADSTEP_FORMULA To round(float x, int stream, std::int64_t i) const {
    if (!is_random()) return convert<To>(x);
    const std::int64_t place = i % kCodeBlock;
    const RoundingBits own = bits(i - place);
    const bool is_low = place < RoundingBits::kHalf;
    const auto half = static_cast<std::uint32_t>(is_low ? place : place - RoundingBits::kHalf);
    const std::uint32_t word = RoundingBits::word(own.place(half), own.stream(stream));
    return round_stochastically<To>(x, is_low ? word & 0xffffU : word >> 16);
  }
};

}  // namespace gradstep::kernels
