// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What products of a matrix with a few vectors, and vectors that are made orthonormal, have in common on every device.
#pragma once

#include <cstdint>

#include "kernels/macros.h"

namespace gradstep::kernels {

// Long sums are made of bands, which are added up in their order: any number of bands may be worked on at once.

/// Elements of a band of a dot product: four quarters of 16 lanes, as a chunk has (docs/numerics.md).
inline constexpr std::int64_t kDotBand = 1024;
inline constexpr std::int64_t kDotQuarter = kDotBand / 4;

/// Rows of a band of a sum down the rows, which are added in their order.
inline constexpr std::int64_t kRowBand = 256;

/// Gram and Schmidt's decision about a vector that has had its parts along others taken away: what makes its length 1,
/// by its square before and after; zero where rounding alone is left of it.
template <class T>
GRADSTEP_FORMULA double unit_scale(double before, double after) {
  constexpr double kRounding = sizeof(T) == sizeof(float) ? 1e-12 : 1e-28;
  return after > kRounding * before ? 1 / square_root(after) : 0;
}

}  // namespace gradstep::kernels
