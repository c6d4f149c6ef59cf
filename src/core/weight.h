// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The weights of weighted means. Sums of weights times gradients are made in the dtype of the gradients, so weights
// stay far from the ends of its range.
#pragma once

#include <cmath>

#include "core/error.h"

namespace gradstep {

/// Weights are 0 or 2^-exponent to 2^exponent.
struct WeightRange {
  int exponent;
};
/// For a micro-batch. `wide`: all sums are f64.
constexpr WeightRange micro_batch_weights(bool wide) { return {wide ? 512 : 64}; }
/// For a rank: the sum over many micro-batches.
constexpr WeightRange rank_weights(bool wide) { return {wide ? 768 : 96}; }

/// Throws INVALID_ARGUMENT.
inline void check_weight(double weight) {
  if (!(weight >= 0) || !std::isfinite(weight)) {
    fail_argument("weight: is {}, expected a finite number of at least 0", weight);
  }
}
inline void check_weight(double weight, WeightRange range) {
  check_weight(weight);
  if (weight == 0) return;
  const double largest = std::ldexp(1.0, range.exponent);
  if (weight > largest || weight < 1 / largest) {
    fail_argument("weight: is {}, expected 0 or {:.3g} to {:.3g}", weight, 1 / largest, largest);
  }
}

}  // namespace gradstep
