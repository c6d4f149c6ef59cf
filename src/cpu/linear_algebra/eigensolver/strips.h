// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Products of the lower triangle of a symmetric matrix with few vectors, which several threads may share. They read as
// much as they compute, so that pays where a matrix leaves a core's own cache.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "cpu/linear_algebra/products.h"

namespace gradstep::cpu {

inline constexpr std::int64_t kSmallestInStrips = 512;
inline constexpr std::int64_t kStrips = 8;

/// The first row of a strip of a triangle of `count` rows; each has as much of it.
inline std::int64_t first_row_of_strip(std::int64_t strip, std::int64_t count) {
  if (strip == kStrips) return count;
  const double share = static_cast<double>(strip) / static_cast<double>(kStrips);
  return std::llround(std::sqrt(share) * static_cast<double>(count) / 4) * 4;
}

/// y (count, columns) is what all rows add. multiply(begin, end, sums): what rows [begin, end) add, to `end` rows of
/// sums, which are overwritten. The strips, and so the order of all sums, follow from the size alone. `scratch`:
/// kStrips times as much as y, from kSmallestInStrips rows on.
template <class T, class Multiply>
void multiply_in_strips(const Products<T>& products, std::int64_t count, std::int64_t columns, T* scratch, T* y,
                        Multiply multiply) {
  if (count < kSmallestInStrips) return multiply(std::int64_t{0}, count, y);
  const auto sums_of = [&](std::int64_t strip) { return strip == 0 ? y : scratch + strip * count * columns; };
  products.share(kStrips, [&](std::int64_t strip) {
    multiply(first_row_of_strip(strip, count), first_row_of_strip(strip + 1, count), sums_of(strip));
  });
  std::fill(y + first_row_of_strip(1, count) * columns, y + count * columns, T{0});
  for (std::int64_t strip = 1; strip < kStrips; ++strip) {
    products.loops().add_scaled(T{1}, sums_of(strip), first_row_of_strip(strip + 1, count) * columns, y);
  }
}

}  // namespace gradstep::cpu
