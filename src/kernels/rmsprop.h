// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// RMSProp (SINGA opt.py; centered and momentum as in PyTorch). See docs/numerics.md.
#pragma once

#include <cstdint>

#include "kernels/macros.h"

namespace gradstep::kernels {

/// Its hyper-parameters, in the order of their values.
struct RmsPropField {
  enum : std::uint8_t { learning_rate, rho, epsilon, weight_decay, momentum, count };
};

struct RmsPropConstants {
  double learning_rate = 0;
  double rho = 0;
  double momentum = 0;
  double inside = 0;   ///< added under the root
  double outside = 0;  ///< added to the root
  double weight_decay = 0;
};

template <class T, bool kCentered, bool kMomentum, bool kDecay>
struct RmsPropRule {
  using Constants = RmsPropConstants;
  static constexpr int kStates = 1 + (kCentered ? 1 : 0) + (kMomentum ? 1 : 0);
  static constexpr std::uint8_t kSignedStates = (1U << kStates) - 2;  ///< bit s = state s has signs

  T learning_rate, rho, one_minus_rho, momentum, inside, outside, weight_decay;

  GRADSTEP_FORMULA explicit RmsPropRule(const RmsPropConstants& c)
      : learning_rate(static_cast<T>(c.learning_rate)),
        rho(static_cast<T>(c.rho)),
        one_minus_rho(static_cast<T>(1 - c.rho)),
        momentum(static_cast<T>(c.momentum)),
        inside(static_cast<T>(c.inside)),
        outside(static_cast<T>(c.outside)),
        weight_decay(static_cast<T>(c.weight_decay)) {}

  /// Returns the change of p; state[0] is square_avg, then grad_avg if centered, then the momentum buffer.
  template <class V>
  GRADSTEP_FORMULA V operator()(V p, V g, V* state) const {
    if constexpr (kDecay) g = g + weight_decay * p;
    V square = rho * state[0] + one_minus_rho * (g * g);
    state[0] = square;
    if constexpr (kCentered) {
      const V mean = rho * state[1] + one_minus_rho * g;
      state[1] = mean;
      square = square - mean * mean;
    }
    const V direction = g / (square_root(square + inside) + outside);
    if constexpr (kMomentum) {
      V& buffer = state[kStates - 1];
      buffer = momentum * buffer + direction;
      return -(learning_rate * buffer);
    } else {
      return -(learning_rate * direction);
    }
  }
};

template <class T>
using RmsProp = RmsPropRule<T, false, false, false>;
template <class T>
using RmsPropDecay = RmsPropRule<T, false, false, true>;
template <class T>
using RmsPropMomentum = RmsPropRule<T, false, true, false>;
template <class T>
using RmsPropMomentumDecay = RmsPropRule<T, false, true, true>;
template <class T>
using RmsPropCentered = RmsPropRule<T, true, false, false>;
template <class T>
using RmsPropCenteredDecay = RmsPropRule<T, true, false, true>;
template <class T>
using RmsPropCenteredMomentum = RmsPropRule<T, true, true, false>;
template <class T>
using RmsPropCenteredMomentumDecay = RmsPropRule<T, true, true, true>;

}  // namespace gradstep::kernels
