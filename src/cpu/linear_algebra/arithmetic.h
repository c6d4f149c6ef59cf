// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cpu/linear_algebra/dense.h"

namespace gradstep::cpu {

/// The inner loops of Shampoo for one instruction set; instruction_set.h chooses.
struct Arithmetic {
  const char* name;
  const Dense& dense;
};

/// What every processor of the architecture has: on aarch64 that is NEON with its fused operations.
#if defined(__aarch64__)
inline constexpr const char* kBaselineArithmeticName = "fused";
#else
inline constexpr const char* kBaselineArithmeticName = "baseline";
#endif
inline constexpr Arithmetic kBaselineArithmetic{kBaselineArithmeticName, kDenseBaseline};

/// A part for each type that is computed in.
template <template <class> class Part>
struct PerType {
  Part<float> f32;
  Part<double> f64;

  template <class T>
  Part<T>& in() {
    if constexpr (sizeof(T) == sizeof(double)) {
      return f64;
    } else {
      return f32;
    }
  }
};

}  // namespace gradstep::cpu
