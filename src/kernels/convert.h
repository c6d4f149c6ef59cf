// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Conversions between element types, rounding once, to nearest with ties to even. They are bit arithmetic without
// branches, so that loops over them vectorise on any instruction set and give the same bits on all, subnormals,
// infinities and NaNs included. A NaN stays a NaN.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/lanes.h"

namespace gradstep::kernels {

/// IEEE binary16.
struct Float16 {
  std::uint16_t bits;
};

/// The upper half of a binary32.
struct BFloat16 {
  std::uint16_t bits;
};

/// The integer that a number's bits are, and those of it that are its exponent.
template <class T>
struct Exponent;
template <>
struct Exponent<float> {
  using Bits = std::uint32_t;
  static constexpr Bits kMask = 0x7f800000U;
};
template <>
struct Exponent<double> {
  using Bits = std::uint64_t;
  static constexpr Bits kMask = 0x7ff0000000000000U;
};
template <>
struct Exponent<Float16> {
  using Bits = std::uint16_t;
  static constexpr Bits kMask = 0x7c00U;
};
template <>
struct Exponent<BFloat16> {
  using Bits = std::uint16_t;
  static constexpr Bits kMask = 0x7f80U;
};

template <class T>
using BitsOf = typename Exponent<T>::Bits;

/// Infinite or NaN: all bits of the exponent are set.
template <class T>
GRADSTEP_FORMULA bool is_nonfinite(BitsOf<T> bits) {
  return (bits & Exponent<T>::kMask) == Exponent<T>::kMask;
}

namespace binary32 {
inline constexpr std::uint32_t kSign = 0x80000000U;
inline constexpr std::uint32_t kInfinity = 0x7f800000U;
constexpr std::uint32_t power_of_two(int exponent) { return static_cast<std::uint32_t>(exponent + 127) << 23; }
}  // namespace binary32

GRADSTEP_FORMULA float to_float(BFloat16 x) { return float_of(static_cast<std::uint32_t>(x.bits) << 16); }

GRADSTEP_FORMULA float to_float(Float16 x) {
  using namespace binary32;
  constexpr std::uint32_t kExponent = 0x7c00U << 13;
  constexpr std::uint32_t kRebias = static_cast<std::uint32_t>(127 - 15) << 23;
  constexpr std::uint32_t kSmallestNormal = power_of_two(-14);
  const std::uint32_t magnitude = (x.bits & 0x7fffU) << 13;
  const std::uint32_t exponent = magnitude & kExponent;
  const std::uint32_t normal = magnitude + kRebias + (exponent == kExponent ? kRebias : 0U);
  // A subnormal's mantissa is put under the exponent of the smallest normal number, whose implicit one is then
  // subtracted.
  const std::uint32_t subnormal = bits_of(float_of(magnitude + kSmallestNormal) - float_of(kSmallestNormal));
  return float_of((exponent == 0 ? subnormal : normal) | static_cast<std::uint32_t>(x.bits & 0x8000U) << 16);
}

/// The bits of the bfloat16 that is nearest to a float's bits. Works on one number, or on vectors of them.
template <class Words>
GRADSTEP_FORMULA Words bfloat16_of(Words bits) {
  const Words rounded = bits + 0x7fffU + ((bits >> 16) & 1U);
  const Words quiet_nan = bits | 0x400000U;
  const auto x = Lanes<Words>::floats_of(bits);
  return (x != x ? quiet_nan : rounded) >> 16;
}

GRADSTEP_FORMULA BFloat16 to_bfloat16(float x) { return {static_cast<std::uint16_t>(bfloat16_of(bits_of(x)))}; }

GRADSTEP_FORMULA Float16 to_float16(float x) {
  using namespace binary32;
  constexpr std::uint32_t kOverflow = power_of_two(16);
  constexpr std::uint32_t kSmallestNormal = power_of_two(-14);
  // Its last place is that of half's subnormals, so adding it rounds to them.
  constexpr std::uint32_t kSubnormalRounder = power_of_two(-1);
  constexpr std::uint32_t kRebias = static_cast<std::uint32_t>(127 - 15) << 23;
  const std::uint32_t sign = bits_of(x) & kSign;
  const std::uint32_t magnitude = bits_of(x) ^ sign;
  const std::uint32_t special = magnitude > kInfinity ? 0x7e00U : 0x7c00U;
  const std::uint32_t subnormal = bits_of(float_of(magnitude) + float_of(kSubnormalRounder)) - kSubnormalRounder;
  const std::uint32_t normal = (magnitude - kRebias + 0xfffU + ((magnitude >> 13) & 1U)) >> 13;
  const std::uint32_t finite = magnitude < kSmallestNormal ? subnormal : normal;
  return {static_cast<std::uint16_t>((magnitude >= kOverflow ? special : finite) | sign >> 16)};
}

/// Rounds to odd: a later rounding to a type of at most 22 bits is then as if it were the only one.
GRADSTEP_FORMULA float round_to_odd(double x) {
  const float nearest = static_cast<float>(x);
  const double back = static_cast<double>(nearest);
  const std::uint32_t bits = bits_of(nearest);
  const bool away = __builtin_fabs(back) > __builtin_fabs(x);
  return float_of(back == x ? bits : (bits - (away ? 1U : 0U)) | 1U);
}

/// The value of a stored element in the type that it is computed in.
template <class T>
GRADSTEP_FORMULA T widen(T x) {
  return x;
}
GRADSTEP_FORMULA float widen(Float16 x) { return to_float(x); }
GRADSTEP_FORMULA float widen(BFloat16 x) { return to_float(x); }

GRADSTEP_FORMULA float before_narrowing(float x) { return x; }
GRADSTEP_FORMULA float before_narrowing(double x) { return round_to_odd(x); }

/// Between any two element types, rounding once. Equal types keep every bit.
template <class To, class From>
GRADSTEP_FORMULA To convert(From x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (std::is_same_v<To, Float16>) {
    return to_float16(before_narrowing(widen(x)));
  } else if constexpr (std::is_same_v<To, BFloat16>) {
    return to_bfloat16(before_narrowing(widen(x)));
  } else {
    return static_cast<To>(widen(x));
  }
}

/// What a parameter's f32 master becomes: where the parameter, widened here, is not its master's rounded value, the
/// host has written it, and the master follows.
template <class Stored>
GRADSTEP_FORMULA float followed(float master, float param) {
  const float rounded = to_float(convert<Stored>(master));
  return bits_of(rounded) == bits_of(param) ? master : param;
}

}  // namespace gradstep::kernels
