// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Integer codes for a matrix, as in Google's Shampoo: a column shares a bucket, the value of code 1, which is its
// largest magnitude / the largest code. Codes are rounded half to even. A NaN makes its bucket NaN, and so the whole
// column when it is read back.
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

/// From the largest magnitude of a column.
template <class Code>
GRADSTEP_FORMULA float column_bucket(float largest) {
  return largest / kLargestCode<Code>;
}

template <class Code>
GRADSTEP_FORMULA Code column_code(float x, float bucket) {
  constexpr float kLimit = kLargestCode<Code>;
  const float scaled = bucket > 0 ? x / bucket : 0.0F;
  const float rounded = __builtin_nearbyintf(scaled);
  const float limited = rounded < -kLimit ? -kLimit : kLimit < rounded ? kLimit : rounded;
  return __builtin_isfinite(scaled) ? static_cast<Code>(limited) : Code{0};
}

/// What a code stands for.
template <class Code>
GRADSTEP_FORMULA float column_number(Code code, float bucket) {
  return static_cast<float>(code) * bucket;
}

}  // namespace gradstep::kernels
