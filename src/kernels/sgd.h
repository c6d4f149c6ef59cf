// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// SGD (SINGA opt.py; Nesterov's form as in PyTorch). See docs/numerics.md.
#pragma once

#include <cstdint>

#include "kernels/macros.h"

namespace gradstep::kernels {

/// Its hyper-parameters, in the order of their values.
struct SgdField {
  enum : std::uint8_t { learning_rate, momentum, dampening, weight_decay, count };
};

struct SgdConstants {
  double learning_rate = 0;
  double momentum = 0;
  double gradient_factor = 1;  ///< 1 - dampening, or 1 in a first step that copies
  double weight_decay = 0;
};

/// `kMomentum`: 0 none, 1 heavy ball, 2 Nesterov.
template <class T, int kMomentum, bool kDecay>
struct SgdRule {
  using Constants = SgdConstants;
  static constexpr int kStates = kMomentum == 0 ? 0 : 1;
  static constexpr std::uint8_t kSignedStates = kMomentum == 0 ? 0 : 0b1;  ///< bit s = state s has signs

  T learning_rate, momentum, gradient_factor, weight_decay;

  GRADSTEP_FORMULA explicit SgdRule(const SgdConstants& c)
      : learning_rate(static_cast<T>(c.learning_rate)),
        momentum(static_cast<T>(c.momentum)),
        gradient_factor(static_cast<T>(c.gradient_factor)),
        weight_decay(static_cast<T>(c.weight_decay)) {}

  /// Returns the change of p; state[0] is the momentum buffer.
  template <class V>
  GRADSTEP_FORMULA V operator()(V p, V g, V* state) const {
    if constexpr (kDecay) g = g + weight_decay * p;
    if constexpr (kMomentum == 0) {
      return -(learning_rate * g);
    } else {
      const V b = momentum * state[0] + gradient_factor * g;
      state[0] = b;
      return -(learning_rate * (kMomentum == 2 ? g + momentum * b : b));
    }
  }
};

template <class T>
using Sgd = SgdRule<T, 0, false>;
template <class T>
using SgdDecay = SgdRule<T, 0, true>;
template <class T>
using SgdMomentum = SgdRule<T, 1, false>;
template <class T>
using SgdMomentumDecay = SgdRule<T, 1, true>;
template <class T>
using SgdNesterov = SgdRule<T, 2, false>;
template <class T>
using SgdNesterovDecay = SgdRule<T, 2, true>;

}  // namespace gradstep::kernels
