// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Formulas over words, of which a backend may take several at once: they use the operators that vectors of integers
// have in the languages that formulas are compiled in, and for the rest Lanes.
#pragma once

#include <cstdint>

#include "kernels/macros.h"

namespace gradstep::kernels {

GRADSTEP_FORMULA std::uint32_t bits_of(float x) { return __builtin_bit_cast(std::uint32_t, x); }
GRADSTEP_FORMULA float float_of(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }

/// Between words and floats: here of one word.
template <>
struct Lanes<std::uint32_t> {
  GRADSTEP_FORMULA static float floats_of(std::uint32_t words) { return float_of(words); }
  GRADSTEP_FORMULA static std::uint32_t words_of(float floats) { return bits_of(floats); }
  /// The float nearest to a signed integer, and the integer part of a float.
  GRADSTEP_FORMULA static float to_floats(std::uint32_t words) {
    return static_cast<float>(static_cast<std::int32_t>(words));
  }
  GRADSTEP_FORMULA static std::uint32_t to_integers(float floats) {
    return static_cast<std::uint32_t>(static_cast<std::int32_t>(floats));
  }
};

}  // namespace gradstep::kernels
