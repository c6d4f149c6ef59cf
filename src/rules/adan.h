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

struct Adan {
  enum : std::uint8_t { learning_rate, beta1, beta2, beta3, epsilon, epsilon_root, weight_decay };
  static constexpr Field kFields[] = {
      {"learning_rate", at_least(0), kRequired, "step size"},
      {"beta1", kFraction, 0.98, "share of the mean that a step keeps"},
      {"beta2", kFraction, 0.92, "share of the mean difference that a step keeps"},
      {"beta3", kFraction, 0.99, "share of the mean square that a step keeps"},
      {"epsilon", at_least(0), 1e-8, "keeps the denominator from zero"},
      {"epsilon_root", at_least(0), 0, "joins the corrected mean square under the root"},
      {"weight_decay", at_least(0), 0, "learning_rate * weight_decay * p is subtracted from p"},
  };

  enum : std::uint8_t { form };
  static constexpr const char* kForms[] = {"authors", "optax"};
  enum : std::uint8_t { authors, optax };
  static constexpr Choice kChoices[] = {{"form", kForms, "authors (as pytorch_optimizer) or optax: what k is"}};

  static constexpr State kStates[] = {{.name = "exp_avg", .has_signs = true},
                                      {.name = "exp_avg_diff", .has_signs = true},
                                      {.name = "exp_avg_sq"},
                                      {.name = "previous_gradient", .has_signs = true}};

  static constexpr Description kAbout = {
      .name = "adan",
      .source = "Xie et al. 2022, Adan, algorithm 1; the numbers of pytorch_optimizer and of optax",
      .formula =
          "d = g - g before, 0 in the first step; k = beta2 for form authors, 1 - beta2 for form optax\n"
          "m = beta1 * m + (1 - beta1) * g\n"
          "D = beta2 * D + (1 - beta2) * d\n"
          "n = beta3 * n + (1 - beta3) * (g + k * d)^2\n"
          "u = m / (1 - beta1^(t+1)) + k * D / (1 - beta2^(t+1))\n"
          "p = p - learning_rate * u / (sqrt(n / (1 - beta3^(t+1)) + epsilon_root) + epsilon)",
      .text =
          "rule my_adan\n"
          "hyper learning_rate in [0, inf); beta1 = 0.98 in [0, 1); beta2 = 0.92 in [0, 1)\n"
          "hyper beta3 = 0.99 in [0, 1); epsilon = 1e-8 in [0, inf); epsilon_root = 0 in [0, inf)\n"
          "state m; D; n unsigned; before\n"
          "d = select(t == 1, 0, g - before)\n"
          "m = beta1 * m + (1 - beta1) * g\n"
          "D = beta2 * D + (1 - beta2) * d\n"
          "n = beta3 * n + (1 - beta3) * (g + beta2 * d)^2\n"
          "before = g\n"
          "u = m / (1 - beta1^t) + beta2 * D / (1 - beta2^t)\n"
          "p = p - learning_rate * u / (sqrt(n / (1 - beta3^t) + epsilon_root) + epsilon)",
      .fields = kFields,
      .settings = {},
      .choices = kChoices,
      .states = kStates,
      .requirements = {}};

  static constexpr bool kOneKernel = true;
  static constexpr Decay decay(const std::int32_t* /*choices*/) { return Decay::decoupled; }

  static constexpr int kVariants = 1;
  static constexpr int variant(const Setup& /*setup*/) { return 0; }
  static constexpr std::uint32_t states(int /*variant*/) { return 0b1111; }

  static double largest_gradient(const Setup& setup, double largest) {
    return largest_square(setup.constant(beta3, 0), largest) / 3;
  }

  template <class T>
  struct Constants {
    T beta1, one_minus_beta1, beta2, one_minus_beta2, beta3, one_minus_beta3, share, of_m, of_d, correct3, epsilon,
        epsilon_root, is_first;
  };

  static GRADSTEP_FORMULA Constants<double> constants(const std::int32_t* choices, const double* v,
                                                      const Clock& clock) {
    const double share = choices[form] == authors ? v[beta2] : 1 - v[beta2];
    return {v[beta1],
            1 - v[beta1],
            v[beta2],
            1 - v[beta2],
            v[beta3],
            1 - v[beta3],
            share,
            v[learning_rate] / (1 - clock.power(0, v[beta1])),
            v[learning_rate] * share / (1 - clock.power(1, v[beta2])),
            1 / (1 - clock.power(2, v[beta3])),
            v[epsilon],
            v[epsilon_root],
            clock.is_first ? 1.0 : 0.0};
  }

  /// Returns the change of p.
  template <class T, int kVariant, class V>
  static GRADSTEP_FORMULA V delta(const Constants<T>& c, V /*p*/, V g, V* state, T largest) {
    const V zero{};
    const V m = c.beta1 * state[0] + c.one_minus_beta1 * g;
    const V difference = zero + c.is_first > zero ? zero : g - state[3];
    const V d = c.beta2 * state[1] + c.one_minus_beta2 * difference;
    const V ahead = g + c.share * difference;
    const V n = kernels::storable(c.beta3 * state[2] + c.one_minus_beta3 * ahead * ahead, largest);
    state[0] = m;
    state[1] = d;
    state[2] = n;
    state[3] = g;
    return -((c.of_m * m + c.of_d * d) / (kernels::square_root(n * c.correct3 + c.epsilon_root) + c.epsilon));
  }
};

}  // namespace gradstep::rules
