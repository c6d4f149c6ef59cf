// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// exp and log in f64 by sums and products alone: one bit pattern on every machine, unlike the C library's. Their error
// is a few units in the last place.
#pragma once

#include <cstdint>

#include "kernels/macros.h"

namespace gradstep::kernels {

// ln 2 in two parts: the first has zeros at its end, and its multiples are exact.
inline constexpr double kLn2High = 0x1.62e42fee00000p-1;
inline constexpr double kLn2Low = 0x1.a39ef35793c76p-33;

/// e^x. 0 below the smallest normal number, infinity above the largest; NaN stays.
GRADSTEP_FORMULA double exponential(double x) {
  if (x != x) return x;
  if (x > 709) return __builtin_inf();
  if (x < -708) return 0;
  const double turns = x * 0x1.71547652b82fep0;  // in powers of two
  const auto k = static_cast<std::int64_t>(turns + (turns < 0 ? -0.5 : 0.5));
  const double r = (x - static_cast<double>(k) * kLn2High) - static_cast<double>(k) * kLn2Low;
  // |r| < 0.35: the term after the last one is below 2^-60.
  double sum = 1;
  for (int i = 14; i > 0; --i) sum = 1 + r / i * sum;
  return sum * __builtin_bit_cast(double, static_cast<std::uint64_t>(k + 1023) << 52);
}

/// The natural logarithm of a positive normal number.
GRADSTEP_FORMULA double logarithm(double x) {
  const auto bits = __builtin_bit_cast(std::uint64_t, x);
  auto k = static_cast<std::int64_t>(bits >> 52) - 1023;
  double m = __builtin_bit_cast(double, (bits & 0xfffffffffffffU) | 0x3ff0000000000000U);  // in [1, 2)
  if (m > 0x1.6a09e667f3bcdp0) {
    m /= 2;
    ++k;
  }
  // ln m = 2 artanh((m - 1) / (m + 1)), whose argument is below 0.172: the term after the last one is below 2^-60.
  const double s = (m - 1) / (m + 1);
  const double square = s * s;
  double sum = 0;
  for (int i = 23; i > 1; i -= 2) sum = (sum + 1.0 / i) * square;
  return static_cast<double>(k) * kLn2High + (2 * s * (sum + 1) + static_cast<double>(k) * kLn2Low);
}

/// The natural logarithm of any number.
GRADSTEP_FORMULA double logarithm_of_any(double x) {
  if (!(x > 0)) return x == 0 ? -__builtin_inf() : (x - x) / (x - x);
  if (x - x != 0) return x;
  if (x < 0x1p-1022) return logarithm(x * 0x1p54) - 54 * (kLn2High + kLn2Low);
  return logarithm(x);
}

/// base^n for a whole n >= 0, with the bits of Power (power.h).
GRADSTEP_FORMULA double whole_power(double base, std::uint64_t n) {
  double squares[64];
  squares[0] = base;
  int width = 0;
  for (; width < 64 && (n >> width) != 0; ++width) {
    if (width > 0) squares[width] = squares[width - 1] * squares[width - 1];
  }
  double product = 1;
  while (width-- > 0) {
    if (((n >> width) & 1) != 0) product *= squares[width];
  }
  return product;
}

/// base^exponent for any numbers: by products where the exponent is whole and below 2^53, else by exp and log, whose
/// errors grow with the logarithm of the result.
GRADSTEP_FORMULA double power_of_any(double base, double exponent) {
  if (exponent == 0 || base == 1) return 1;
  if (base != base || exponent != exponent) return base + exponent;
  const double size = exponent < 0 ? -exponent : exponent;
  const bool is_huge = size >= 0x1p53;  // even, if finite
  if (!is_huge && size == static_cast<double>(static_cast<std::int64_t>(size))) {
    const double power = whole_power(base, static_cast<std::uint64_t>(size));
    return exponent < 0 ? 1 / power : power;
  }
  if (base < 0 && base - base == 0 && !is_huge) return (base - base) / (base - base);
  const double magnitude = base < 0 ? -base : base;
  if (magnitude == 1) return 1;
  return exponential(exponent * logarithm_of_any(magnitude));
}

}  // namespace gradstep::kernels
