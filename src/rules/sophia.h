// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/macros.h"
#include "rules/clock.h"
#include "rules/description.h"
#include "rules/limits.h"

namespace gradstep::rules {

struct Sophia {
  enum : std::uint8_t { learning_rate, beta1, gamma, clip_threshold, epsilon, weight_decay };
  static constexpr Field kFields[] = {
      {"learning_rate", at_least(0), kRequired, "step size"},
      {"beta1", kFraction, 0.965, "share of the mean that a step keeps"},
      {"gamma", at_least(0), 0.01, "scale of the curvature"},
      {"clip_threshold", at_least(0), 1, "largest change of an element, beside the learning rate"},
      {"epsilon", at_least(0), 1e-8, "least denominator"},
      {"weight_decay", at_least(0), 1e-4, "learning_rate * weight_decay * p is subtracted from p"},
  };

  static constexpr State kStates[] = {{.name = "exp_avg", .has_signs = true}, {.name = "hessian", .has_signs = true}};

  static constexpr Description kAbout = {
      .name = "sophia",
      .source = "Liu et al. 2023, Sophia, algorithm 3; the numbers of optax",
      .formula =
          "m = beta1 * m + (1 - beta1) * g\n"
          "u = m / (1 - beta1^(t+1)) / max(gamma * h, epsilon)\n"
          "p = p - learning_rate * clamp(u, -clip_threshold, clip_threshold)\n"
          "h, the state hessian, is 0 at first; the host sets it, every few steps: beta2 * h + (1 - beta2) * its "
          "estimate",
      .text =
          "rule my_sophia\n"
          "hyper learning_rate in [0, inf); beta1 = 0.965 in [0, 1); gamma = 0.01 in [0, inf)\n"
          "hyper clip_threshold = 1 in [0, inf); epsilon = 1e-8 in [0, inf)\n"
          "state m; h  # the host sets h\n"
          "m = beta1 * m + (1 - beta1) * g\n"
          "u = m / (1 - beta1^t) / max(gamma * h, epsilon)\n"
          "p = p - learning_rate * clamp(u, -clip_threshold, clip_threshold)",
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

  static double largest_gradient(const Setup& /*setup*/, double largest) { return largest; }

  template <class T>
  struct Constants {
    T beta1, one_minus_beta1, correct1, gamma, clip_threshold, epsilon, learning_rate;
  };

  static GRADSTEP_FORMULA Constants<double> constants(const std::int32_t* /*choices*/, const double* v,
                                                      const Clock& clock) {
    return {v[beta1],   1 - v[beta1],    1 / (1 - clock.power(0, v[beta1])), v[gamma], v[clip_threshold],
            v[epsilon], v[learning_rate]};
  }

  /// Returns the change of p.
  template <class T, int kVariant, class V>
  static GRADSTEP_FORMULA V delta(const Constants<T>& c, V /*p*/, V g, V* state, T /*largest*/) {
    const V m = c.beta1 * state[0] + c.one_minus_beta1 * g;
    state[0] = m;
    const V least = c.epsilon + V{};
    const V curvature = c.gamma * state[1];
    const V u = c.correct1 * m / (curvature > least ? curvature : least);
    return -(c.learning_rate * kernels::clamp(u, c.clip_threshold + V{}));
  }
};

}  // namespace gradstep::rules
