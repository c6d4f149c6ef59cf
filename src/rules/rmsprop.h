// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/macros.h"
#include "kernels/stored.h"
#include "rules/clock.h"
#include "rules/description.h"
#include "rules/epsilon.h"
#include "rules/limits.h"

namespace gradstep::rules {

struct RmsProp {
  enum : std::uint8_t { learning_rate, rho, epsilon, weight_decay, momentum };
  static constexpr Field kFields[] = {
      {"learning_rate", at_least(0), kRequired, "step size"},
      {"rho", kFraction, 0.9, "share of the averages that a step keeps"},
      {"epsilon", at_least(0), 1e-8, "keeps the denominator from zero"},
      {"weight_decay", at_least(0), 0, "times p is added to the gradient"},
      {"momentum", at_least(0), 0, "share of the buffer that a step keeps"},
  };

  enum : std::uint8_t { epsilon_placement, centered };
  static constexpr Choice kChoices[] = {
      kEpsilonPlacementChoice,
      {"centered", {}, "subtracts the square of the mean gradient under the root (Graves 2013)"},
  };

  static constexpr State kStates[] = {
      {.name = "square_avg"}, {.name = "grad_avg", .has_signs = true}, {.name = "momentum_buffer", .has_signs = true}};

  static constexpr Description kAbout = {
      .name = "rmsprop",
      .source = "Tieleman and Hinton 2012; SINGA opt.py; centered and momentum as in PyTorch",
      .formula =
          "a = rho * a + (1 - rho) * g^2\n"
          "centered: c = rho * c + (1 - rho) * g, and a - c^2 stands for a below\n"
          "d = g / sqrt(a + epsilon), or by epsilon_placement g / (sqrt(a) + epsilon)\n"
          "with momentum: b = momentum * b + d, and b stands for d\n"
          "p = p - learning_rate * d",
      .text =
          "rule my_rmsprop\n"
          "hyper learning_rate in [0, inf); rho = 0.9 in [0, 1); epsilon = 1e-8 in [0, inf)\n"
          "hyper momentum = 0 in [0, inf)\n"
          "state a unsigned; b\n"
          "a = rho * a + (1 - rho) * g^2\n"
          "b = momentum * b + g / sqrt(a + epsilon)\n"
          "p = p - learning_rate * b",
      .fields = kFields,
      .settings = {},
      .choices = kChoices,
      .states = kStates,
      .requirements = {}};

  static constexpr Decay decay(const std::int32_t* /*choices*/) { return Decay::coupled; }

  // Bit 0: centered; bit 1: momentum.
  static constexpr int kVariants = 4;
  static constexpr int variant(const Setup& setup) {
    return (setup.choices[centered] != 0 ? 1 : 0) + (setup.has(momentum) ? 2 : 0);
  }
  static constexpr std::uint32_t states(int variant) { return 1U | (static_cast<std::uint32_t>(variant) << 1); }

  static double largest_gradient(const Setup& setup, double largest) {
    return largest_square(setup.constant(rho, 0), largest);
  }

  template <class T>
  struct Constants {
    T learning_rate, rho, one_minus_rho, momentum;
    Epsilon<T> epsilon;
  };

  static GRADSTEP_FORMULA Constants<double> constants(const std::int32_t* choices, const double* v,
                                                      const Clock& /*clock*/) {
    return {v[learning_rate], v[rho], 1 - v[rho], v[momentum], place_epsilon(choices[epsilon_placement], v[epsilon])};
  }

  /// Returns the change of p.
  template <class T, int kVariant, class V>
  static GRADSTEP_FORMULA V delta(const Constants<T>& c, V /*p*/, V g, V* state, T largest) {
    // From left to right: g * g may be beyond T.
    V square = kernels::storable(c.rho * state[0] + c.one_minus_rho * g * g, largest);
    state[0] = square;
    if constexpr ((kVariant & 1) != 0) {
      const V mean = c.rho * state[1] + c.one_minus_rho * g;
      state[1] = mean;
      square = square - mean * mean;
      square = square < V{} ? V{} : square;  // by rounding, or where the sum of squares has stopped growing
    }
    const V direction = g / c.epsilon.root(square);
    if constexpr ((kVariant & 2) != 0) {
      V& buffer = state[1 + (kVariant & 1)];
      buffer = c.momentum * buffer + direction;
      return -(c.learning_rate * buffer);
    } else {
      return -(c.learning_rate * direction);
    }
  }
};

}  // namespace gradstep::rules
