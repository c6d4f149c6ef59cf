// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/macros.h"
#include "rules/clock.h"
#include "rules/description.h"

namespace gradstep::rules {

struct Lion {
  enum : std::uint8_t { learning_rate, beta1, beta2, weight_decay };
  static constexpr Field kFields[] = {
      {"learning_rate", at_least(0), kRequired, "step size"},
      {"beta1", kFraction, 0.9, "share of the momentum in the direction"},
      {"beta2", kFraction, 0.99, "share of the momentum that a step keeps"},
      {"weight_decay", at_least(0), 0, "learning_rate * weight_decay * p is subtracted from p"},
  };

  static constexpr State kStates[] = {{.name = "exp_avg", .has_signs = true}};

  static constexpr Description kAbout = {
      .name = "lion",
      .source = "Chen et al. 2023, Symbolic Discovery of Optimization Algorithms, algorithm 2; the numbers of optax",
      .formula =
          "u = sign(beta1 * m + (1 - beta1) * g), where sign(0) = 0\n"
          "m = beta2 * m + (1 - beta2) * g\n"
          "p = p - learning_rate * u",
      .text =
          "rule my_lion\n"
          "hyper learning_rate in [0, inf); beta1 = 0.9 in [0, 1); beta2 = 0.99 in [0, 1)\n"
          "state m\n"
          "u = sign(beta1 * m + (1 - beta1) * g)\n"
          "m = beta2 * m + (1 - beta2) * g\n"
          "p = p - learning_rate * u",
      .fields = kFields,
      .settings = {},
      .choices = {},
      .states = kStates,
      .requirements = {}};

  static constexpr Decay decay(const std::int32_t* /*choices*/) { return Decay::decoupled; }

  static constexpr int kVariants = 1;
  static constexpr int variant(const Setup& /*setup*/) { return 0; }
  static constexpr std::uint32_t states(int /*variant*/) { return 1; }

  /// An average stays among what it averages.
  static double largest_gradient(const Setup& /*setup*/, double largest) { return largest; }

  template <class T>
  struct Constants {
    T learning_rate, beta1, one_minus_beta1, beta2, one_minus_beta2;
  };

  static GRADSTEP_FORMULA Constants<double> constants(const std::int32_t* /*choices*/, const double* v,
                                                      const Clock& /*clock*/) {
    return {v[learning_rate], v[beta1], 1 - v[beta1], v[beta2], 1 - v[beta2]};
  }

  /// Returns the change of p.
  template <class T, int kVariant, class V>
  static GRADSTEP_FORMULA V delta(const Constants<T>& c, V /*p*/, V g, V* state, T /*largest*/) {
    const V m = state[0];
    state[0] = c.beta2 * m + c.one_minus_beta2 * g;
    return -(c.learning_rate * kernels::sign<T>(c.beta1 * m + c.one_minus_beta1 * g));
  }
};

}  // namespace gradstep::rules
