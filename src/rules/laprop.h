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

struct LaProp {
  enum : std::uint8_t { learning_rate, beta1, beta2, epsilon, weight_decay };
  static constexpr Field kFields[] = {
      {"learning_rate", at_least(0), kRequired, "step size"},
      {"beta1", kFraction, 0.9, "share of the mean that a step keeps"},
      {"beta2", kFraction, 0.999, "share of the mean square that a step keeps"},
      {"epsilon", at_least(0), 1e-15, "keeps the denominator from zero"},
      {"weight_decay", at_least(0), 0, "learning_rate * weight_decay * p is subtracted from p"},
  };

  static constexpr State kStates[] = {{.name = "exp_avg", .has_signs = true}, {.name = "exp_avg_sq"}};

  static constexpr Description kAbout = {
      .name = "laprop",
      .source = "Ziyin et al. 2020, LaProp, algorithm 1; the numbers of NVIDIA",
      .formula =
          "v = beta2 * v + (1 - beta2) * g^2\n"
          "m = beta1 * m + (1 - beta1) * g / (sqrt(v / (1 - beta2^(t+1))) + epsilon)\n"
          "p = p - learning_rate * m / (1 - beta1^(t+1))",
      .text =
          "rule my_laprop\n"
          "hyper learning_rate in [0, inf)\n"
          "hyper beta1 = 0.9 in [0, 1); beta2 = 0.999 in [0, 1); epsilon = 1e-15 in [0, inf)\n"
          "state m; v unsigned\n"
          "v = beta2 * v + (1 - beta2) * g^2\n"
          "m = beta1 * m + (1 - beta1) * g / (sqrt(v / (1 - beta2^t)) + epsilon)\n"
          "p = p - learning_rate * m / (1 - beta1^t)",
      .fields = kFields,
      .settings = {},
      .choices = {},
      .states = kStates,
      .requirements = {}};

  static constexpr bool kOneKernel = true;
  static constexpr Decay decay(const std::int32_t* /*choices*/) { return Decay::decoupled; }

  static constexpr int kVariants = 1;
  static constexpr int variant(const Setup& /*setup*/) { return 0; }
  static constexpr std::uint32_t states(int /*variant*/) { return 0b11; }

  static double largest_gradient(const Setup& setup, double largest) {
    return largest_square(setup.constant(beta2, 0), largest);
  }

  template <class T>
  struct Constants {
    T beta1, one_minus_beta1, beta2, one_minus_beta2, step_size, correct2, epsilon;
  };

  static GRADSTEP_FORMULA Constants<double> constants(const std::int32_t* /*choices*/, const double* v,
                                                      const Clock& clock) {
    return {v[beta1],
            1 - v[beta1],
            v[beta2],
            1 - v[beta2],
            v[learning_rate] / (1 - clock.power(0, v[beta1])),
            1 / (1 - clock.power(1, v[beta2])),
            v[epsilon]};
  }

  /// Returns the change of p.
  template <class T, int kVariant, class V>
  static GRADSTEP_FORMULA V delta(const Constants<T>& c, V /*p*/, V g, V* state, T largest) {
    const V v = kernels::storable(c.beta2 * state[1] + c.one_minus_beta2 * g * g, largest);
    state[1] = v;
    const V m = c.beta1 * state[0] + c.one_minus_beta1 * g / (kernels::square_root(v * c.correct2) + c.epsilon);
    state[0] = m;
    return -(c.step_size * m);
  }
};

}  // namespace gradstep::rules
