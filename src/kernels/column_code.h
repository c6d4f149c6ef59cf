// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Integer codes for a matrix, as in Google's Shampoo: a column shares a bucket, the value of code 1, which is its
// largest magnitude / the largest code. Codes are rounded half to even. A number that is infinite or NaN is coded as 0,
// and its column as if it were not there.
#pragma once

#include <cstdint>

#include "kernels/largest.h"

namespace gradstep::kernels {

/// How a matrix of state is kept.
enum class Coding : std::uint8_t {
  none,   ///< f32
  int8,   ///< codes -127 .. 127
  int16,  ///< codes -32767 .. 32767; the diagonal is kept apart in f32
};

/// Bytes of a number.
constexpr std::int64_t code_size(Coding coding) {
  switch (coding) {
    case Coding::none:
      return sizeof(float);
    case Coding::int8:
      return sizeof(std::int8_t);
    case Coding::int16:
      break;
  }
  return sizeof(std::int16_t);
}

template <class Code>
inline constexpr float kLargestCode = sizeof(Code) == 1 ? 127.0F : 32767.0F;

template <class Code>
inline constexpr bool kKeepsDiagonal = sizeof(Code) > 1;

/// `largest`, of the finite magnitudes of a column, takes in x.
GRADSTEP_FORMULA void take_finite_magnitude(float x, float& largest) {
  const float own = magnitude(x);
  if (own > largest && own < __builtin_inff()) largest = own;
}

/// From the largest magnitude of a column.
template <class Code>
GRADSTEP_FORMULA float column_bucket(float largest) {
  return largest / kLargestCode<Code>;
}

/// The code of |x|, which is at most the column's largest magnitude; 0 where the bucket is 0 or not finite. Written so
/// that it becomes vectors.
template <class Code>
GRADSTEP_FORMULA Code column_code(float x, float bucket) {
  constexpr auto kLimit = static_cast<std::int32_t>(kLargestCode<Code>);
  constexpr float kNoFraction = 12582912.0F;  // 1.5 * 2^23: a sum with it has no place for a fraction, its bits count
  const float scaled = x / bucket;
  const auto code =
      __builtin_bit_cast(std::int32_t, scaled + kNoFraction) - __builtin_bit_cast(std::int32_t, kNoFraction);
  const std::int32_t above = code < -kLimit ? -kLimit : code;
  const std::int32_t limited = kLimit < above ? kLimit : above;
  return bucket > 0 && __builtin_fabsf(scaled) < __builtin_inff() ? static_cast<Code>(limited) : Code{0};
}

/// What a code stands for.
template <class Code>
GRADSTEP_FORMULA float column_number(Code code, float bucket) {
  return static_cast<float>(std::int32_t{code}) * bucket;
}

}  // namespace gradstep::kernels
