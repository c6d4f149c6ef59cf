// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// AdaGrad (Duchi, Hazan and Singer 2011; SINGA opt.py). See docs/numerics.md.
#pragma once

#include <cstdint>

#include "kernels/macros.h"

namespace gradstep::kernels {

/// Its hyper-parameters, in the order of their values.
struct AdaGradField {
  enum : std::uint8_t { learning_rate, epsilon, weight_decay, lr_decay, count };
};

struct AdaGradConstants {
  double learning_rate = 0;  ///< of this step: divided by 1 + t * lr_decay
  double inside = 0;         ///< added under the root
  double outside = 0;        ///< added to the root
  double weight_decay = 0;
};

template <class T, bool kDecay>
struct AdaGradRule {
  using Constants = AdaGradConstants;
  static constexpr int kStates = 1;
  static constexpr std::uint8_t kSignedStates = 0;  ///< bit s = state s has signs

  T learning_rate, inside, outside, weight_decay;

  GRADSTEP_FORMULA explicit AdaGradRule(const AdaGradConstants& c)
      : learning_rate(static_cast<T>(c.learning_rate)),
        inside(static_cast<T>(c.inside)),
        outside(static_cast<T>(c.outside)),
        weight_decay(static_cast<T>(c.weight_decay)) {}

  /// Returns the change of p; state[0] is the sum of squares.
  template <class V>
  GRADSTEP_FORMULA V operator()(V p, V g, V* state) const {
    if constexpr (kDecay) g = g + weight_decay * p;
    const V sum = state[0] + g * g;
    state[0] = sum;
    return -(learning_rate * g / (square_root(sum + inside) + outside));
  }
};

template <class T>
using AdaGrad = AdaGradRule<T, false>;
template <class T>
using AdaGradDecay = AdaGradRule<T, true>;

}  // namespace gradstep::kernels
