// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Codes of 4 and 8 bits for blocks of numbers that share a factor, what the largest magnitude of a block is divided by
// the largest number of the format: codes stand for numbers of the format times the factor. All is computed in f32:
//
//   factor = largest / Format::kLargest, or 0 where that is below 2^-100;  inverse = 1 / factor, or 0
//   code of x = x * inverse, rounded to the format's nearest number, to even at ties;  number = format's * factor
//
// Int4: integers -7 to 7 in two's complement, blocks of 64. Float8: blocks of 256 of OCP's 8-bit floating point (OFP8,
// revision 1.0, 2023; Micikevicius et al. 2022, "FP8 formats for deep learning"), E4M3 with numbers up to 448 and E5M2
// up to 57344, subnormal ones included; no code is infinite or NaN. The bound of factors keeps results from being
// subnormal in f32, so that processors that take those for zeros give the same bits.
#pragma once

#include <cstdint>

#include "kernels/block_code.h"
#include "kernels/convert.h"
#include "kernels/lanes.h"

namespace gradstep::kernels {

/// How numbers are coded by blocks.
enum class NumberCode : std::uint8_t {
  octaves,  ///< kernels/block_code.h
  int4,     ///< the formats below
  e4m3,
  e5m2,
};

struct Int4 {
  static constexpr std::int64_t kBlock = 64;
  static constexpr float kLargest = 7;

  /// Bits 0 to 3 of the nearest integer to numbers of magnitude below 7.5. In floats' bits, as all numbers here.
  template <class Words>
  GRADSTEP_FORMULA static Words encode(Words numbers) {
    using L = Lanes<Words>;
    constexpr float kNoFraction = 12582912.0F;  // 1.5 * 2^23: a sum with it has no place for a fraction
    return L::words_of(L::floats_of(numbers) + kNoFraction) & 15U;
  }

  template <class Words>
  GRADSTEP_FORMULA static Words decode(Words codes) {
    using L = Lanes<Words>;
    return L::words_of(L::to_floats((codes ^ 8U) - 8U));
  }
};

/// A sign, an exponent and a significand, in one byte.
template <int kExponentBits>
struct Float8 {
  static constexpr std::int64_t kBlock = 256;
  static constexpr float kLargest = kExponentBits == 4 ? 448.0F : 57344.0F;

  /// The numbers are finite and round to kLargest at most.
  template <class Words>
  GRADSTEP_FORMULA static Words encode(Words numbers) {
    using L = Lanes<Words>;
    const Words magnitude = numbers & ~binary32::kSign;
    const Words subnormal = L::words_of(L::floats_of(magnitude) + float_of(kSubnormalRounder)) - kSubnormalRounder;
    const Words normal = (magnitude - kRebias + ((1U << (kShift - 1)) - 1U) + ((magnitude >> kShift) & 1U)) >> kShift;
    return (magnitude < kSmallestNormal ? subnormal : normal) | ((numbers >> 24) & 0x80U);
  }

  template <class Words>
  GRADSTEP_FORMULA static Words decode(Words codes) {
    using L = Lanes<Words>;
    const Words magnitude = (codes & 0x7fU) << kShift;
    // A subnormal's significand is put under the exponent of the smallest normal number, whose implicit one is then
    // subtracted.
    const Words subnormal = L::words_of(L::floats_of(magnitude + kSmallestNormal) - float_of(kSmallestNormal));
    return (magnitude < (1U << 23) ? subnormal : magnitude + kRebias) | ((codes << 24) & binary32::kSign);
  }

 private:
  static constexpr int kSignificandBits = 7 - kExponentBits;
  static constexpr int kShift = 23 - kSignificandBits;
  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  static constexpr std::uint32_t kRebias = static_cast<std::uint32_t>(127 - kBias) << 23;
  static constexpr std::uint32_t kSmallestNormal = binary32::power_of_two(1 - kBias);
  /// Its last place is that of subnormals, so adding it rounds to them.
  static constexpr std::uint32_t kSubnormalRounder = binary32::power_of_two(1 - kBias - kSignificandBits + 23);
};

using E4M3 = Float8<4>;
using E5M2 = Float8<5>;

/// For the numbers of one block, by its factor.
template <class Format>
class ScaledCode {
 public:
  static constexpr std::int64_t kBlock = Format::kBlock;

  GRADSTEP_FORMULA explicit ScaledCode(float factor) : factor_(factor), inverse_(factor > 0 ? 1 / factor : 0.0F) {}

  /// `largest` is finite.
  GRADSTEP_FORMULA static float factor_of(float largest) {
    const float factor = largest / Format::kLargest;
    return factor < 0x1p-100F ? 0.0F : factor;
  }

  /// The codes of numbers in floats' bits, none of them larger than the block's largest.
  template <class Words>
  GRADSTEP_FORMULA Words encode(Words numbers) const {
    using L = Lanes<Words>;
    return Format::encode(L::words_of(L::floats_of(numbers) * inverse_));
  }

  /// What codes stand for, in floats' bits.
  template <class Words>
  GRADSTEP_FORMULA Words decode(Words codes) const {
    using L = Lanes<Words>;
    return L::words_of(L::floats_of(Format::decode(codes)) * factor_);
  }

 private:
  float factor_;
  float inverse_;
};

/// Numbers that share a factor.
constexpr std::int64_t block_of(NumberCode code) { return code == NumberCode::int4 ? Int4::kBlock : E4M3::kBlock; }

/// Bytes of codes and factors of kCodeBlock numbers. Byte i of a block of int4 has the codes of its numbers i, in bits
/// 0 to 3, and i + 32, in bits 4 to 7.
constexpr std::int64_t coded_bytes(NumberCode code) {
  const std::int64_t codes = code == NumberCode::int4 ? kCodeBlock / 2 : kCodeBlock;
  return codes + kCodeBlock / block_of(code) * std::int64_t{sizeof(float)};
}

}  // namespace gradstep::kernels
