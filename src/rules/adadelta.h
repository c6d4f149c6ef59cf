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

struct Adadelta {
  enum : std::uint8_t { learning_rate, rho, epsilon, weight_decay };
  static constexpr Field kFields[] = {
      {"learning_rate", at_least(0), kRequired, "step size"},
      {"rho", kFraction, 0.9, "share of both means that a step keeps"},
      {"epsilon", at_least(0), 1e-6, "keeps roots from zero, and lets the first steps begin"},
      {"weight_decay", at_least(0), 0, "times p is added to the gradient"},
  };

  static constexpr State kStates[] = {{.name = "square_avg"}, {.name = "acc_delta"}};

  static constexpr Description kAbout = {
      .name = "adadelta",
      .source = "Zeiler 2012, ADADELTA, algorithm 1; the numbers of torch and optax",
      .formula =
          "v = rho * v + (1 - rho) * g^2\n"
          "d = sqrt(D + epsilon) / sqrt(v + epsilon) * g\n"
          "D = rho * D + (1 - rho) * d^2\n"
          "p = p - learning_rate * d",
      .text =
          "rule my_adadelta\n"
          "hyper learning_rate in [0, inf); rho = 0.9 in [0, 1); epsilon = 1e-6 in [0, inf)\n"
          "state v unsigned; D unsigned\n"
          "v = rho * v + (1 - rho) * g^2\n"
          "d = sqrt(D + epsilon) / sqrt(v + epsilon) * g\n"
          "D = rho * D + (1 - rho) * d^2\n"
          "p = p - learning_rate * d",
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

  static double largest_gradient(const Setup& setup, double largest) {
    return largest_square(setup.constant(rho, 0), largest);
  }

  template <class T>
  struct Constants {
    T learning_rate, rho, one_minus_rho, epsilon;
  };

  static GRADSTEP_FORMULA Constants<double> constants(const std::int32_t* /*choices*/, const double* v,
                                                      const Clock& /*clock*/) {
    return {v[learning_rate], v[rho], 1 - v[rho], v[epsilon]};
  }

  /// Returns the change of p.
  template <class T, int kVariant, class V>
  static GRADSTEP_FORMULA V delta(const Constants<T>& c, V /*p*/, V g, V* state, T largest) {
    const V v = kernels::storable(c.rho * state[0] + c.one_minus_rho * g * g, largest);
    const V d = kernels::square_root(state[1] + c.epsilon) / kernels::square_root(v + c.epsilon) * g;
    state[0] = v;
    state[1] = kernels::storable(c.rho * state[1] + c.one_minus_rho * d * d, largest);
    return -(c.learning_rate * d);
  }
};

}  // namespace gradstep::rules
