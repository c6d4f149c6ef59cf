// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What an add does to one element of a sum.
#pragma once

#include <cstdint>

#include "kernels/macros.h"

namespace gradstep::kernels {

enum class AddFormula : std::uint8_t { plain, multiplied, divided, running };

/// Dividing by a power of two and multiplying by its reciprocal give the same bits; the latter is faster.
inline bool has_exact_reciprocal(double divisor) {
  const std::uint64_t bits = __builtin_bit_cast(std::uint64_t, divisor);
  const auto exponent = static_cast<std::int64_t>(bits >> 52 & 0x7ff) - 1022;  // as frexp's
  return (bits & 0xfffffffffffffU) == 0 && exponent > -64 && exponent < 64;
}

template <AddFormula kFormula, class T>
GRADSTEP_FORMULA T term(T g, T factor) {
  if constexpr (kFormula == AddFormula::multiplied) {
    return factor * g;
  } else if constexpr (kFormula == AddFormula::divided) {
    return g / factor;
  } else {
    return g;
  }
}

template <AddFormula kFormula, class T>
struct Assign {
  T factor;
  GRADSTEP_FORMULA T operator()(T /*a*/, T g) const {
    if constexpr (kFormula == AddFormula::running) {
      return g / factor;
    } else {
      return term<kFormula>(g, factor);
    }
  }
};

template <AddFormula kFormula, class T>
struct Add {
  T factor;
  GRADSTEP_FORMULA T operator()(T a, T g) const {
    if constexpr (kFormula == AddFormula::running) {
      return a + (g - a) / factor;
    } else {
      return a + term<kFormula>(g, factor);
    }
  }
};

/// A sum whose gradient is absent: a running mean is drawn towards zero, others stay.
template <bool kRunning, class T>
struct Keep {
  T factor;
  GRADSTEP_FORMULA T operator()(T a, T /*g*/) const { return kRunning ? a + (T{0} - a) / factor : a; }
};

}  // namespace gradstep::kernels
