// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Magnitudes as the integers that their bits are: in the order of the magnitudes, with NaNs above infinity. Such an
// integer is a number's key.
#pragma once

#include <cstdint>

#include "kernels/convert.h"

namespace gradstep::kernels {

template <class Bits>
constexpr Bits kMagnitude = static_cast<Bits>(~Bits{0}) >> 1;

template <class T>
struct Magnitude {
  static constexpr int kBits = 8 * sizeof(T) - 1;  ///< of a key

  GRADSTEP_FORMULA static BitsOf<T> key(BitsOf<T> bits) { return bits & kMagnitude<BitsOf<T>>; }
  GRADSTEP_FORMULA static bool is_nan(BitsOf<T> key) { return key > Exponent<T>::kMask; }

  /// The smallest key of a number that reaches a threshold >= 0; zeros reach none.
  GRADSTEP_FORMULA static BitsOf<T> key_of_threshold(double threshold) {
    const auto key = __builtin_bit_cast(BitsOf<T>, static_cast<T>(threshold));
    return key > 0 ? key : 1;
  }
};

}  // namespace gradstep::kernels
