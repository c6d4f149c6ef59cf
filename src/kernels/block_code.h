// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Eight-bit codes for blocks of 256 numbers that share a factor, their largest magnitude (block-wise quantization:
// Dettmers, Lewis, Shleifer and Zettlemoyer 2022, "8-bit optimizers via block-wise quantization"). The spacing is ours:
// a table of 256 numbers, theirs, takes a look-up for each element, this code integer additions and shifts.
//
// The bits of two positive floats, as integers, are about as many octaves apart as the numbers are, in units of 2^-23.
// A code counts cells of that distance from the largest magnitude down, and cells widen with the distance: the
// distance, a constant added, is written as a float, of which a cell has one exponent and the upper bits of one
// significand (5 with signs, 6 without). The largest magnitude is in the middle of the first cell and is kept exactly.
//
// The last cell has to be zero. To every magnitude is added `floor`, what the last cell stands for, 2^-26 (without
// signs 2^-30) of the largest; and it is subtracted again. The smallest numbers are then equally spaced, as subnormal
// ones are. The largest magnitude is not changed by it: floor is less than half of its last place.
#pragma once

#include <cstdint>

#include "kernels/convert.h"
#include "kernels/lanes.h"

namespace gradstep::kernels {

inline constexpr std::int64_t kCodeBlock = 256;

/// Subnormal numbers have the codes of zeros in a block with this factor or a larger one: they are far below floor.
inline constexpr float kCodesSubnormalAsZero = 0x1p-80F;

/// `kSigned`: bit 7 is the sign, and bits 0 to 6 are the magnitude's code. 0 stands for zero, the largest code of a
/// magnitude, 127 or 255, for the block's largest.
template <bool kSigned>
class BlockCode {
 public:
  static constexpr std::uint32_t kLargest = kSigned ? 127 : 255;

  /// For the numbers of one block, by its factor, which is finite.
  GRADSTEP_FORMULA explicit BlockCode(float factor)
      : start_(largest(factor) + kAdded), floor_(float_of(largest(factor) - kSpan)) {}

  /// The codes of numbers in floats' bits, none of them larger than the factor.
  template <class Words>
  GRADSTEP_FORMULA Words encode(Words numbers) const {
    const Words code = code_of(numbers & ~binary32::kSign);
    if constexpr (kSigned) return code | ((numbers >> 24) & 0x80U);
    return code;
  }
  /// The codes of magnitudes.
  template <class Words>
  GRADSTEP_FORMULA Words code_of(Words magnitudes) const {
    using L = Lanes<Words>;
    const auto raised = L::floats_of(magnitudes) + floor_;
    const Words distance = L::words_of(L::to_floats(start_ - L::words_of(raised)));
    return (kZero + kCell / 2 - distance) >> kCellBits;
  }

  /// What codes stand for, in floats' bits. The bits of a code from 8 on do not count.
  template <class Words>
  GRADSTEP_FORMULA Words decode(Words codes) const {
    const Words magnitude = magnitude_of(codes & kLargest);
    if constexpr (kSigned) return magnitude | ((codes << 24) & binary32::kSign);
    return magnitude;
  }
  /// The magnitudes that codes without signs, and without other bits, stand for.
  template <class Words>
  GRADSTEP_FORMULA Words magnitude_of(Words codes) const {
    using L = Lanes<Words>;
    const Words distance = kZero - (codes << kCellBits);
    return L::words_of(L::floats_of(start_ - L::to_integers(L::floats_of(distance))) - floor_);
  }

 private:
  // A cell, of the bits of the distance.
  static constexpr int kCellBits = kSigned ? 18 : 17;
  static constexpr std::uint32_t kCell = 1U << kCellBits;
  /// What is added to the distance: 1.75 octaves or 2.
  static constexpr std::uint32_t kAdded = kSigned ? 7U << 21 : 2U << 23;
  /// The bits of the distance, written as a float, of zero; the largest magnitude's are kLargest cells less.
  static constexpr std::uint32_t kZero =
      __builtin_bit_cast(std::uint32_t, static_cast<float>(kAdded)) + kLargest * kCell;
  /// What the factor's bits are above those of floor.
  static constexpr std::uint32_t kSpan = static_cast<std::uint32_t>(__builtin_bit_cast(float, kZero)) - kAdded;
  /// Half of the last place of the factor, at least.
  static_assert(kSpan > 25U << 23);

  /// The bits of the factor, and at least those for which floor is a normal number.
  GRADSTEP_FORMULA static std::uint32_t largest(float factor) {
    constexpr std::uint32_t kSmallest = kSpan + (1U << 23);
    const std::uint32_t bits = bits_of(factor);
    return bits > kSmallest ? bits : kSmallest;
  }

  std::uint32_t start_;  ///< of which a number's bits are subtracted
  float floor_;
};

/// A number of a block that has some that are not finite, in floats' bits: those become the factor, the largest of the
/// others, and keep their signs.
GRADSTEP_FORMULA std::uint32_t codable(std::uint32_t number, std::uint32_t factor) {
  return is_nonfinite<float>(number) ? (number & binary32::kSign) | factor : number;
}

/// `largest`, of the bits of finite numbers without their signs, takes in a number's.
GRADSTEP_FORMULA void take_finite(std::uint32_t number, std::uint32_t& largest) {
  const std::uint32_t magnitude = number & ~binary32::kSign;
  if (!is_nonfinite<float>(magnitude) && magnitude > largest) largest = magnitude;
}

}  // namespace gradstep::kernels
