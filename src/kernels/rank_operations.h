// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What a reduction over ranks does with two numbers.
#pragma once

#include <cstdint>

#include "kernels/macros.h"

namespace gradstep::kernels {

/// Integers wrap.
struct Sum {
  template <class T>
  GRADSTEP_FORMULA T operator()(T a, T b) const {
    return a + b;
  }
  GRADSTEP_FORMULA std::int32_t operator()(std::int32_t a, std::int32_t b) const {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
  }
  GRADSTEP_FORMULA std::int64_t operator()(std::int64_t a, std::int64_t b) const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }
};

/// A NaN of any rank stays.
struct Max {
  template <class T>
  GRADSTEP_FORMULA T operator()(T a, T b) const {
    const T larger = a > b ? a : b;
    return a != a ? a : larger;
  }
};

struct Min {
  template <class T>
  GRADSTEP_FORMULA T operator()(T a, T b) const {
    const T lesser = a < b ? a : b;
    return a != a ? a : lesser;
  }
};

}  // namespace gradstep::kernels
