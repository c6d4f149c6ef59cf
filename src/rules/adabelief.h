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

struct AdaBelief {
  enum : std::uint8_t { learning_rate, beta1, beta2, epsilon, epsilon_root, weight_decay };
  static constexpr Field kFields[] = {
      {"learning_rate", at_least(0), kRequired, "step size"},
      {"beta1", kFraction, 0.9, "share of the mean that a step keeps"},
      {"beta2", kFraction, 0.999, "share of the mean squared surprise that a step keeps"},
      {"epsilon", at_least(0), 1e-16, "keeps the denominator from zero"},
      {"epsilon_root", at_least(0), 1e-16, "is added to s in every step"},
      {"weight_decay", at_least(0), 0, "learning_rate * weight_decay * p is subtracted from p"},
  };

  enum : std::uint8_t { nesterov };
  static constexpr Choice kChoices[] = {{"nesterov", {}, "looks one step ahead"}};

  static constexpr State kStates[] = {{.name = "exp_avg", .has_signs = true}, {.name = "exp_avg_var"}};

  static constexpr Description kAbout = {
      .name = "adabelief",
      .source = "Zhuang et al. 2020, AdaBelief; the numbers of optax",
      .formula =
          "m = beta1 * m + (1 - beta1) * g\n"
          "s = beta2 * s + (1 - beta2) * (g - m)^2 + epsilon_root\n"
          "M = m / (1 - beta1^(t+1)); with nesterov beta1 * m / (1 - beta1^(t+2)) + "
          "(1 - beta1) * g / (1 - beta1^(t+1))\n"
          "p = p - learning_rate * M / (sqrt(s / (1 - beta2^(t+1))) + epsilon)",
      .text =
          "rule my_adabelief\n"
          "hyper learning_rate in [0, inf); beta1 = 0.9 in [0, 1); beta2 = 0.999 in [0, 1)\n"
          "hyper epsilon = 1e-16 in [0, inf); epsilon_root = 1e-16 in [0, inf)\n"
          "state m; s unsigned\n"
          "m = beta1 * m + (1 - beta1) * g\n"
          "s = beta2 * s + (1 - beta2) * (g - m)^2 + epsilon_root\n"
          "p = p - learning_rate * m / (1 - beta1^t) / (sqrt(s / (1 - beta2^t)) + epsilon)",
      .fields = kFields,
      .settings = {},
      .choices = kChoices,
      .states = kStates,
      .requirements = {}};

  static constexpr bool kOneKernel = true;
  static constexpr Decay decay(const std::int32_t* /*choices*/) { return Decay::decoupled; }

  static constexpr int kVariants = 1;
  static constexpr int variant(const Setup& /*setup*/) { return 0; }
  static constexpr std::uint32_t states(int /*variant*/) { return 0b11; }

  static double largest_gradient(const Setup& setup, double largest) {
    return largest_square(setup.constant(beta2, 0), largest) / 4;
  }

  template <class T>
  struct Constants {
    T beta1, one_minus_beta1, beta2, one_minus_beta2, of_m, of_g, correct2, epsilon, epsilon_root;
  };

  static GRADSTEP_FORMULA Constants<double> constants(const std::int32_t* choices, const double* v,
                                                      const Clock& clock) {
    const double beta = v[beta1];
    const double now = clock.power(0, beta);
    const double rate = v[learning_rate];
    const bool looks_ahead = choices[nesterov] != 0;
    const double of_m = looks_ahead ? rate * beta / (1 - now * beta) : rate / (1 - now);
    const double of_g = looks_ahead ? rate * (1 - beta) / (1 - now) : 0;
    return {beta,       1 - beta,       v[beta2], 1 - v[beta2], of_m, of_g, 1 / (1 - clock.power(1, v[beta2])),
            v[epsilon], v[epsilon_root]};
  }

  /// Returns the change of p.
  template <class T, int kVariant, class V>
  static GRADSTEP_FORMULA V delta(const Constants<T>& c, V /*p*/, V g, V* state, T largest) {
    const V m = c.beta1 * state[0] + c.one_minus_beta1 * g;
    state[0] = m;
    const V off = g - m;
    const V s = kernels::storable(c.beta2 * state[1] + c.one_minus_beta2 * off * off + c.epsilon_root, largest);
    state[1] = s;
    return -((c.of_m * m + c.of_g * g) / (kernels::square_root(s * c.correct2) + c.epsilon));
  }
};

}  // namespace gradstep::rules
