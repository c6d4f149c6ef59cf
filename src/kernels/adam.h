// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Adam (Kingma and Ba 2015), AdamW (Loshchilov and Hutter 2019) and AMSGrad (Reddi, Kale and Kumar 2018). See
// docs/numerics.md.
#pragma once

#include <cstdint>

#include "kernels/macros.h"

namespace gradstep::kernels {

/// Its hyper-parameters, in the order of their values.
struct AdamField {
  enum : std::uint8_t { learning_rate, beta1, beta2, epsilon, weight_decay, count };
};

/// Both bias corrections are one formula: delta = -step_size * m / (sqrt(v) * root_factor + epsilon).
struct AdamConstants {
  double beta1 = 0;
  double beta2 = 0;
  double step_size = 0;    ///< standard: lr / (1 - beta1^(t+1)); tf: lr * sqrt(1 - beta2^(t+1)) / (1 - beta1^(t+1))
  double root_factor = 1;  ///< standard: 1 / sqrt(1 - beta2^(t+1)); tf: 1
  double epsilon = 0;
  double weight_decay = 0;  ///< coupled: lambda; decoupled: learning_rate * lambda
};

enum class AdamDecay { none, coupled, decoupled };

template <class T, AdamDecay kDecay, bool kAmsgrad>
struct AdamRule {
  using Constants = AdamConstants;
  static constexpr int kStates = kAmsgrad ? 3 : 2;
  static constexpr std::uint8_t kSignedStates = 0b1;  ///< bit s = state s has signs

  T beta1, one_minus_beta1, beta2, one_minus_beta2, step_size, root_factor, epsilon, weight_decay;

  GRADSTEP_FORMULA explicit AdamRule(const AdamConstants& c)
      : beta1(static_cast<T>(c.beta1)),
        one_minus_beta1(static_cast<T>(1 - c.beta1)),
        beta2(static_cast<T>(c.beta2)),
        one_minus_beta2(static_cast<T>(1 - c.beta2)),
        step_size(static_cast<T>(c.step_size)),
        root_factor(static_cast<T>(c.root_factor)),
        epsilon(static_cast<T>(c.epsilon)),
        weight_decay(static_cast<T>(c.weight_decay)) {}

  /// Returns the change of p; state[0] is exp_avg, state[1] exp_avg_sq, state[2] max_exp_avg_sq.
  template <class V>
  GRADSTEP_FORMULA V operator()(V p, V g, V* state) const {
    if constexpr (kDecay == AdamDecay::coupled) g = g + weight_decay * p;
    const V m = beta1 * state[0] + one_minus_beta1 * g;
    V v = beta2 * state[1] + one_minus_beta2 * (g * g);
    state[0] = m;
    state[1] = v;
    if constexpr (kAmsgrad) {
      v = state[2] > v ? state[2] : v;  // a NaN in v stays
      state[2] = v;
    }
    const V delta = -(step_size * m / (square_root(v) * root_factor + epsilon));
    if constexpr (kDecay == AdamDecay::decoupled) return delta - weight_decay * p;
    return delta;
  }
};

template <class T>
using Adam = AdamRule<T, AdamDecay::none, false>;
template <class T>
using AdamCoupled = AdamRule<T, AdamDecay::coupled, false>;
template <class T>
using AdamDecoupled = AdamRule<T, AdamDecay::decoupled, false>;
template <class T>
using Amsgrad = AdamRule<T, AdamDecay::none, true>;
template <class T>
using AmsgradCoupled = AdamRule<T, AdamDecay::coupled, true>;
template <class T>
using AmsgradDecoupled = AdamRule<T, AdamDecay::decoupled, true>;

}  // namespace gradstep::kernels
