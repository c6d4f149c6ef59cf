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

struct Yogi {
  enum : std::uint8_t { learning_rate, beta1, beta2, epsilon, weight_decay };
  static constexpr Field kFields[] = {
      {"learning_rate", at_least(0), kRequired, "step size"},
      {"beta1", kFraction, 0.9, "share of the mean that a step keeps"},
      {"beta2", kFraction, 0.999, "1 - beta2 of g^2 is how far v moves"},
      {"epsilon", at_least(0), 1e-3, "keeps the denominator from zero"},
      {"weight_decay", at_least(0), 0, "learning_rate * weight_decay * p is subtracted from p"},
  };

  enum : std::uint8_t { initial_accumulator };
  static constexpr Field kSettings[] = {{"initial_accumulator", at_least(0), 1e-6, "what m and v start with"}};

  static constexpr State kStates[] = {{.name = "exp_avg", .has_signs = true, .initial = initial_accumulator},
                                      {.name = "exp_avg_sq", .initial = initial_accumulator}};

  static constexpr Description kAbout = {
      .name = "yogi",
      .source = "Zaheer et al. 2018, Adaptive Methods for Nonconvex Optimization, algorithm 2; the numbers of optax",
      .formula =
          "m = beta1 * m + (1 - beta1) * g\n"
          "v = v - (1 - beta2) * sign(v - g^2) * g^2; both start at initial_accumulator\n"
          "p = p - learning_rate * m / (1 - beta1^(t+1)) / (sqrt(v / (1 - beta2^(t+1))) + epsilon)",
      .text =
          "rule my_yogi\n"
          "hyper learning_rate in [0, inf); beta1 = 0.9 in [0, 1); beta2 = 0.999 in [0, 1)\n"
          "hyper epsilon = 1e-3 in [0, inf); initial_accumulator = 1e-6 in [0, inf)\n"
          "state m; v unsigned\n"
          "m = beta1 * select(t == 1, initial_accumulator, m) + (1 - beta1) * g\n"
          "v = select(t == 1, initial_accumulator, v)\n"
          "v = v - (1 - beta2) * sign(v - g^2) * g^2\n"
          "p = p - learning_rate * m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + epsilon)",
      .fields = kFields,
      .settings = kSettings,
      .choices = {},
      .states = kStates,
      .requirements = {}};

  static constexpr bool kOneKernel = true;
  static constexpr Decay decay(const std::int32_t* /*choices*/) { return Decay::decoupled; }

  static constexpr int kVariants = 1;
  static constexpr int variant(const Setup& /*setup*/) { return 0; }
  static constexpr std::uint32_t states(int /*variant*/) { return 0b11; }

  static double largest_gradient(const Setup& /*setup*/, double largest) { return largest_square(0.5, largest) / 2; }

  template <class T>
  struct Constants {
    T beta1, one_minus_beta1, one_minus_beta2, step_size, correct2, epsilon;
  };

  static GRADSTEP_FORMULA Constants<double> constants(const std::int32_t* /*choices*/, const double* v,
                                                      const Clock& clock) {
    return {v[beta1],
            1 - v[beta1],
            1 - v[beta2],
            v[learning_rate] / (1 - clock.power(0, v[beta1])),
            1 / (1 - clock.power(1, v[beta2])),
            v[epsilon]};
  }

  /// Returns the change of p.
  template <class T, int kVariant, class V>
  static GRADSTEP_FORMULA V delta(const Constants<T>& c, V /*p*/, V g, V* state, T largest) {
    const V m = c.beta1 * state[0] + c.one_minus_beta1 * g;
    state[0] = m;
    const V square = g * g;
    const V v = kernels::storable(state[1] - c.one_minus_beta2 * kernels::sign<T>(state[1] - square) * square, largest);
    state[1] = v;
    return -(c.step_size * m / (kernels::square_root(v * c.correct2) + c.epsilon));
  }
};

}  // namespace gradstep::rules
