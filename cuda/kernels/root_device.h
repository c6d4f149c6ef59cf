// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What the kernels of roots share. Where a number of a whole matrix is sought, a block has a matrix; where none is, a
// row.
#pragma once

#include "device/block.h"
#include "kernels/roots.h"

namespace gradstep::cuda {

inline constexpr int kMatrixThreads = 256;
inline constexpr int kRowThreads = 128;
inline constexpr double kSmallestEigenvalue = 1e-6;

struct Partials {
  double of_warps[kMatrixThreads / kWarp];
};

GRADSTEP_DEVICE double larger_or_nan(double a, double b) { return a != a || a > b ? a : b; }

/// In all threads: the sum, or the largest or a NaN, of what they have.
template <bool kSums>
GRADSTEP_DEVICE double combine(Block& block, double value, Partials& shared) {
  for (int mask = kWarp / 2; mask > 0; mask /= 2) {
    const double other = block.shuffle_xor(value, mask);
    value = kSums ? value + other : larger_or_nan(value, other);
  }
  block.sync();
  if (block.thread() % kWarp == 0) shared.of_warps[block.thread() / kWarp] = value;
  block.sync();
  value = shared.of_warps[0];
  for (int w = 1; w < kMatrixThreads / kWarp; ++w) {
    value = kSums ? value + shared.of_warps[w] : larger_or_nan(value, shared.of_warps[w]);
  }
  return value;
}

GRADSTEP_DEVICE bool is_finite(double x) { return x - x == 0; }

GRADSTEP_DEVICE double ridge_of(const RootState& state) {
  const double largest = state.max_eigenvalue < kSmallestEigenvalue ? kSmallestEigenvalue : state.max_eigenvalue;
  return state.epsilon * largest;
}

/// max |a - I|; NaN if there is one. By all threads, in each of them.
GRADSTEP_DEVICE double distance_from_identity(Block& block, const double* a, std::int64_t n, Partials& shared) {
  double worst = 0;
  for (std::int64_t i = block.thread(); i < n * n; i += kMatrixThreads) {
    const double difference = block.load(a + i) - (i % (n + 1) == 0 ? 1 : 0);
    worst = larger_or_nan(difference < 0 ? -difference : difference, worst);
  }
  return combine<false>(block, worst, shared);
}

}  // namespace gradstep::cuda
