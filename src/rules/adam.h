// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/macros.h"
#include "kernels/stored.h"
#include "rules/clock.h"
#include "rules/description.h"
#include "rules/limits.h"

namespace gradstep::rules {

struct Adam {
  enum : std::uint8_t { learning_rate, beta1, beta2, epsilon, weight_decay };
  static constexpr Field kFields[] = {
      {"learning_rate", at_least(0), kRequired, "step size"},
      {"beta1", kFraction, 0.9, "share of the mean that a step keeps"},
      {"beta2", kFraction, 0.999, "share of the mean square that a step keeps"},
      {"epsilon", at_least(0), 1e-8, "keeps the denominator from zero"},
      {"weight_decay", at_least(0), 0, "times p is added to the gradient, or see decoupled_weight_decay"},
  };

  enum : std::uint8_t { bias_correction, decoupled_weight_decay, amsgrad };
  static constexpr const char* kBiasCorrections[] = {"standard", "tf"};
  static constexpr Choice kChoices[] = {
      {"bias_correction", kBiasCorrections, "tf: epsilon joins sqrt(v) before the correction (TensorFlow, Lingvo)"},
      {"decoupled_weight_decay", {}, "subtracts learning_rate * weight_decay * p instead (AdamW)"},
      {"amsgrad", {}, "puts the largest v so far under the root"},
  };

  static constexpr State kStates[] = {{.name = "exp_avg", .has_signs = true},
                                      {.name = "exp_avg_sq"},
                                      {.name = "max_exp_avg_sq", .listed_with = amsgrad}};

  static constexpr Description kAbout = {
      .name = "adam",
      .source =
          "Kingma and Ba 2015, algorithm 1; AdamW: Loshchilov and Hutter 2019; AMSGrad: Reddi, Kale and Kumar 2018",
      .formula =
          "m = beta1 * m + (1 - beta1) * g\n"
          "v = beta2 * v + (1 - beta2) * g^2\n"
          "standard: p = p - learning_rate * (m / (1 - beta1^(t+1))) / (sqrt(v / (1 - beta2^(t+1))) + epsilon)\n"
          "tf: p = p - learning_rate * sqrt(1 - beta2^(t+1)) / (1 - beta1^(t+1)) * m / (sqrt(v) + epsilon)",
      .text =
          "rule my_adam\n"
          "hyper learning_rate in [0, inf)\n"
          "hyper beta1 = 0.9 in [0, 1); beta2 = 0.999 in [0, 1); epsilon = 1e-8 in [0, inf)\n"
          "state m; v unsigned\n"
          "m = beta1 * m + (1 - beta1) * g\n"
          "v = beta2 * v + (1 - beta2) * g^2\n"
          "p = p - learning_rate * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon)",
      .fields = kFields,
      .settings = {},
      .choices = kChoices,
      .states = kStates,
      .requirements = {}};

  static constexpr Decay decay(const std::int32_t* choices) {
    return choices[decoupled_weight_decay] != 0 ? Decay::decoupled : Decay::coupled;
  }

  // 1: AMSGrad.
  static constexpr int kVariants = 2;
  static constexpr int variant(const Setup& setup) { return setup.choices[amsgrad] != 0 ? 1 : 0; }
  static constexpr std::uint32_t states(int variant) { return variant == 0 ? 0b011 : 0b111; }

  static double largest_gradient(const Setup& setup, double largest) {
    return largest_square(setup.constant(beta2, 0), largest);
  }

  /// Both corrections are one formula: delta = -step_size * m / (sqrt(v) * root_factor + epsilon).
  template <class T>
  struct Constants {
    T beta1, one_minus_beta1, beta2, one_minus_beta2;
    T step_size;    ///< standard: lr / (1 - beta1^(t+1)); tf: lr * sqrt(1 - beta2^(t+1)) / (1 - beta1^(t+1))
    T root_factor;  ///< standard: 1 / sqrt(1 - beta2^(t+1)); tf: 1
    T epsilon;
  };

  static GRADSTEP_FORMULA Constants<double> constants(const std::int32_t* choices, const double* v,
                                                      const Clock& clock) {
    const bool is_tf = choices[bias_correction] == 1;
    const double correction1 = 1 - clock.power(0, v[beta1]);
    const double correction2 = 1 - clock.power(1, v[beta2]);
    const double root2 = kernels::square_root(correction2);
    return {v[beta1],
            1 - v[beta1],
            v[beta2],
            1 - v[beta2],
            is_tf ? v[learning_rate] * root2 / correction1 : v[learning_rate] / correction1,
            is_tf ? 1 : 1 / root2,
            v[epsilon]};
  }

  /// Returns the change of p.
  template <class T, int kVariant, class V>
  static GRADSTEP_FORMULA V delta(const Constants<T>& c, V /*p*/, V g, V* state, T largest) {
    const V m = c.beta1 * state[0] + c.one_minus_beta1 * g;
    // From left to right: g * g may be beyond T.
    V v = kernels::storable(c.beta2 * state[1] + c.one_minus_beta2 * g * g, largest);
    state[0] = m;
    state[1] = v;
    if constexpr (kVariant == 1) {
      v = state[2] > v ? state[2] : v;  // a NaN in v stays
      state[2] = v;
    }
    return -(c.step_size * m / (kernels::square_root(v) * c.root_factor + c.epsilon));
  }
};

}  // namespace gradstep::rules
