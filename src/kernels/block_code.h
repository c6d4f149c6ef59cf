// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Eight-bit codes for blocks of 256 numbers that share a factor, the one of largest magnitude: Dettmers, Lewis,
// Shleifer and Zettlemoyer 2022, "8-bit optimizers via block-wise quantization".
//
// A code stands for a number between 0 and 1 (or -1 and 1). Each power of ten from 1e-7 to 1 is a decade; the higher
// ones are cut more finely: decade i = 0 ... 6, from 10^(i-7) to 10^(i-6), has 2^i cells of one width (2^(i+1) where no
// code is spent on signs). A code stands for the middle of its cell. Zero, and 1 itself, have codes of their own, so
// that a block's largest number is kept exactly.
#pragma once

#include <cstdint>

#include "kernels/convert.h"

namespace gradstep::kernels {

inline constexpr std::int64_t kCodeBlock = 256;

/// `kSigned`: codes 0 ... 254 stand for -127 ... 127 cells away from zero, 255 for 1. Else code k is k cells away.
template <bool kSigned>
struct BlockCode {
  static constexpr int kDecades = 7;
  static constexpr int kZero = kSigned ? 127 : 0;
  static constexpr int kOne = 255;

  GRADSTEP_FORMULA static constexpr int cells(int decade) { return kSigned ? 1 << decade : 2 << decade; }
  /// How many cells away from zero the decade's first one is.
  GRADSTEP_FORMULA static constexpr int first_cell(int decade) { return kSigned ? 1 << decade : (2 << decade) - 1; }
  GRADSTEP_FORMULA static constexpr double decade_end(int decade) {
    double end = 1;
    for (int i = decade; i < kDecades - 1; ++i) end /= 10;
    return end;
  }

  /// The code of x, |x| <= 1; any code for NaN.
  GRADSTEP_FORMULA static std::uint8_t encode(float x) {
    const float magnitude = __builtin_fabsf(x);
    float position = kOneAway;
    least_line<0>(magnitude, position);
    const int away = magnitude < kSmallest ? 0 : static_cast<int>(position);
    if constexpr (kSigned) {
      const int code = x < 0 ? kZero - away : kZero + away;
      return static_cast<std::uint8_t>(x > kNearOne ? kOne : code);
    } else {
      return static_cast<std::uint8_t>(magnitude > kNearOne ? kOne : away);
    }
  }

 private:
  static constexpr float kOneAway = static_cast<float>(kOne - kZero);
  // Halfway between zero and the first cell's middle; halfway between the last cell's middle and 1.
  static constexpr float kSmallest = static_cast<float>(0.5 * (0.1 + 0.45 / cells(0)) * decade_end(0));
  static constexpr float kNearOne = static_cast<float>(1 - 0.225 / cells(kDecades - 1));

  // How many cells away from zero a number lies is linear in it within a decade, continuous from decade to decade, and
  // concave, for a higher decade has wider cells: it is the least of the decades' seven lines. Multiplications,
  // additions and minima, unrolled by the template, so that loops over numbers vectorise.
  template <int kDecade>
  GRADSTEP_FORMULA static void least_line(float magnitude, float& position) {
    if constexpr (kDecade < kDecades) {
      constexpr float kSlope = static_cast<float>(cells(kDecade) / (0.9 * decade_end(kDecade)));
      constexpr float kStart = static_cast<float>(first_cell(kDecade) - cells(kDecade) / 9.0);
      const float line = magnitude * kSlope + kStart;
      position = line < position ? line : position;
      least_line<kDecade + 1>(magnitude, position);
    }
  }
};

/// The factor of a block whose numbers' bits, as signed integers, are at most `positive`, and at most `negative` with
/// their sign changed; both at least 0. It is the number of largest magnitude with its sign, whose code is then 1:
/// encoding what was decoded changes nothing. A NaN is larger than everything and poisons its block.
GRADSTEP_FORMULA float block_factor(std::int32_t positive, std::int32_t negative) {
  const bool is_negative = negative > positive;
  const auto largest = static_cast<std::uint32_t>(is_negative ? negative : positive);
  return float_of(is_negative ? largest | binary32::kSign : largest);
}

/// What numbers are divided by before they are encoded.
GRADSTEP_FORMULA float block_divisor(float factor) { return factor == 0 ? 1.0F : factor; }

/// What the codes stand for.
struct CodeValues {
  float of[256];
};

template <bool kSigned>
constexpr CodeValues code_values() {
  using Code = BlockCode<kSigned>;
  CodeValues values{};
  values.of[Code::kZero] = 0;
  values.of[Code::kOne] = 1;
  for (int decade = 0; decade < Code::kDecades; ++decade) {
    for (int cell = 0; cell < Code::cells(decade); ++cell) {
      const double middle = 0.1 + 0.9 * (cell + 0.5) / Code::cells(decade);
      const auto value = static_cast<float>(middle * Code::decade_end(decade));
      values.of[Code::kZero + Code::first_cell(decade) + cell] = value;
      if (kSigned) values.of[Code::kZero - Code::first_cell(decade) - cell] = -value;
    }
  }
  return values;
}

// Not members of the template: the copies of two instruction sets share no symbol.
GRADSTEP_LOOKUP CodeValues kSignedCodeValues = code_values<true>();
GRADSTEP_LOOKUP CodeValues kUnsignedCodeValues = code_values<false>();

template <bool kSigned>
GRADSTEP_FORMULA float decode(std::uint8_t code) {
  return (kSigned ? kSignedCodeValues : kUnsignedCodeValues).of[code];
}

}  // namespace gradstep::kernels
