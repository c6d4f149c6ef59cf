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

struct Lamb {
  enum : std::uint8_t { learning_rate, beta1, beta2, epsilon, epsilon_root, weight_decay };
  static constexpr Field kFields[] = {
      {"learning_rate", at_least(0), kRequired, "step size"},
      {"beta1", kFraction, 0.9, "share of the mean that a step keeps"},
      {"beta2", kFraction, 0.999, "share of the mean square that a step keeps"},
      {"epsilon", at_least(0), 1e-6, "keeps the denominator from zero"},
      {"epsilon_root", at_least(0), 0, "joins the corrected mean square under the root"},
      {"weight_decay", at_least(0), 0, "times p is added to u"},
  };

  static constexpr State kStates[] = {{.name = "exp_avg", .has_signs = true}, {.name = "exp_avg_sq"}};

  static constexpr Description kAbout = {
      .name = "lamb",
      .source = "You et al. 2020, Large Batch Optimization for Deep Learning, algorithm 2; the numbers of optax",
      .formula =
          "m = beta1 * m + (1 - beta1) * g\n"
          "v = beta2 * v + (1 - beta2) * g^2\n"
          "u = m / (1 - beta1^(t+1)) / (sqrt(v / (1 - beta2^(t+1)) + epsilon_root) + epsilon) + weight_decay * p\n"
          "p = p - learning_rate * norm(p) / norm(u) * u, or without the ratio where a norm is 0; norms of the tensor",
      .text =
          "rule my_lamb\n"
          "hyper learning_rate in [0, inf); beta1 = 0.9 in [0, 1); beta2 = 0.999 in [0, 1)\n"
          "hyper epsilon = 1e-6 in [0, inf); epsilon_root = 0 in [0, inf); weight_decay = 0 in [0, inf)\n"
          "state m; v unsigned\n"
          "m = beta1 * m + (1 - beta1) * g\n"
          "v = beta2 * v + (1 - beta2) * g^2\n"
          "u = m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t) + epsilon_root) + epsilon) + weight_decay * p\n"
          "p = p - learning_rate * select(norm(p) * norm(u) > 0, norm(p) / norm(u), 1) * u",
      .fields = kFields,
      .settings = {},
      .choices = {},
      .states = kStates,
      .requirements = {},
      .trust_ratio = true};

  static constexpr Decay decay(const std::int32_t* /*choices*/) { return Decay::decoupled; }

  static constexpr int kVariants = 1;
  static constexpr int variant(const Setup& /*setup*/) { return 0; }
  static constexpr std::uint32_t states(int /*variant*/) { return 0b11; }

  static double largest_gradient(const Setup& setup, double largest) {
    return largest_square(setup.constant(beta2, 0), largest);
  }

  template <class T>
  struct Constants {
    T beta1, one_minus_beta1, beta2, one_minus_beta2;
    T step_size;  ///< lr / (1 - beta1^(t+1))
    T correct2;   ///< 1 / (1 - beta2^(t+1))
    T epsilon, epsilon_root;
  };

  static GRADSTEP_FORMULA Constants<double> constants(const std::int32_t* /*choices*/, const double* v,
                                                      const Clock& clock) {
    return {v[beta1],
            1 - v[beta1],
            v[beta2],
            1 - v[beta2],
            v[learning_rate] / (1 - clock.power(0, v[beta1])),
            1 / (1 - clock.power(1, v[beta2])),
            v[epsilon],
            v[epsilon_root]};
  }

  /// Returns the change of p, without its ratio.
  template <class T, int kVariant, class V>
  static GRADSTEP_FORMULA V delta(const Constants<T>& c, V /*p*/, V g, V* state, T largest) {
    const V m = c.beta1 * state[0] + c.one_minus_beta1 * g;
    // From left to right: g * g may be beyond T.
    const V v = kernels::storable(c.beta2 * state[1] + c.one_minus_beta2 * g * g, largest);
    state[0] = m;
    state[1] = v;
    return -(c.step_size * m / (kernels::square_root(v * c.correct2 + c.epsilon_root) + c.epsilon));
  }
};

}  // namespace gradstep::rules
