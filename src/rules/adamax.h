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

struct Adamax {
  enum : std::uint8_t { learning_rate, beta1, beta2, epsilon, weight_decay };
  static constexpr Field kFields[] = {
      {"learning_rate", at_least(0), kRequired, "step size"},
      {"beta1", kFraction, 0.9, "share of the mean that a step keeps"},
      {"beta2", kFraction, 0.999, "share of the largest magnitude that a step keeps"},
      {"epsilon", at_least(0), 1e-8, "keeps the denominator from zero"},
      {"weight_decay", at_least(0), 0, "times p is added to the gradient"},
  };

  static constexpr State kStates[] = {{.name = "exp_avg", .has_signs = true}, {.name = "exp_inf"}};

  static constexpr Description kAbout = {
      .name = "adamax",
      .source = "Kingma and Ba 2015, Adam, algorithm 2; the numbers of torch and optax",
      .formula =
          "m = beta1 * m + (1 - beta1) * g\n"
          "u = max(beta2 * u, abs(g) + epsilon)\n"
          "p = p - learning_rate / (1 - beta1^(t+1)) * m / u",
      .text =
          "rule my_adamax\n"
          "hyper learning_rate in [0, inf)\n"
          "hyper beta1 = 0.9 in [0, 1); beta2 = 0.999 in [0, 1); epsilon = 1e-8 in [0, inf)\n"
          "state m; u unsigned\n"
          "m = beta1 * m + (1 - beta1) * g\n"
          "u = max(beta2 * u, abs(g) + epsilon)\n"
          "p = p - learning_rate / (1 - beta1^t) * m / u",
      .fields = kFields,
      .settings = {},
      .choices = {},
      .states = kStates,
      .requirements = {}};

  static constexpr bool kOneKernel = true;
  static constexpr Decay decay(const std::int32_t* /*choices*/) { return Decay::coupled; }

  static constexpr int kVariants = 1;
  static constexpr int variant(const Setup& /*setup*/) { return 0; }
  static constexpr std::uint32_t states(int /*variant*/) { return 0b11; }

  static double largest_gradient(const Setup& /*setup*/, double largest) { return largest / 2; }

  template <class T>
  struct Constants {
    T beta1, one_minus_beta1, beta2, step_size, epsilon;
  };

  static GRADSTEP_FORMULA Constants<double> constants(const std::int32_t* /*choices*/, const double* v,
                                                      const Clock& clock) {
    return {v[beta1], 1 - v[beta1], v[beta2], v[learning_rate] / (1 - clock.power(0, v[beta1])), v[epsilon]};
  }

  /// Returns the change of p.
  template <class T, int kVariant, class V>
  static GRADSTEP_FORMULA V delta(const Constants<T>& c, V /*p*/, V g, V* state, T /*largest*/) {
    const V m = c.beta1 * state[0] + c.one_minus_beta1 * g;
    state[0] = m;
    const V kept = c.beta2 * state[1];
    const V seen = kernels::magnitude(g) + c.epsilon;
    const V u = kept > seen ? kept : seen;
    state[1] = u;
    return -(c.step_size * m / u);
  }
};

}  // namespace gradstep::rules
