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

struct Adopt {
  enum : std::uint8_t { learning_rate, beta1, beta2, epsilon, weight_decay };
  static constexpr Field kFields[] = {
      {"learning_rate", at_least(0), kRequired, "step size"},
      {"beta1", kFraction, 0.9, "share of the mean that a step keeps"},
      {"beta2", kFraction, 0.9999, "share of the mean square that a step keeps"},
      {"epsilon", at_least(0), 1e-6, "least denominator"},
      {"weight_decay", at_least(0), 0, "times p is added to the gradient"},
  };

  enum : std::uint8_t { clipping, nesterov };
  static constexpr const char* kClippings[] = {"optax", "pytorch_optimizer", "none"};
  enum : std::uint8_t { optax, pytorch_optimizer, none };
  static constexpr Choice kChoices[] = {
      {"clipping", kClippings, "how u is clipped: by t as optax counts it, as pytorch_optimizer does, or none"},
      {"nesterov", {}, "looks one step ahead"}};

  static constexpr State kStates[] = {{.name = "exp_avg", .has_signs = true}, {.name = "exp_avg_sq"}};

  static constexpr Description kAbout = {
      .name = "adopt",
      .source = "Taniguchi et al. 2024, ADOPT, algorithm 2; the numbers of optax and of pytorch_optimizer",
      .formula =
          "the first step: v = g^2, and nothing else\n"
          "u = clamp(g / max(sqrt(v), epsilon), -C, C), with the v of the step before\n"
          "C = t^(1/4) for clipping optax, (t+1)^(1/4) for pytorch_optimizer\n"
          "m = beta1 * m + (1 - beta1) * u\n"
          "v = beta2 * v + (1 - beta2) * g^2\n"
          "p = p - learning_rate * (beta1 * m + (1 - beta1) * u if nesterov else m)",
      .text =
          "rule my_adopt\n"
          "hyper learning_rate in [0, inf)\n"
          "hyper beta1 = 0.9 in [0, 1); beta2 = 0.9999 in [0, 1); epsilon = 1e-6 in [0, inf)\n"
          "state m; v unsigned\n"
          "C = (t - 1)^0.25\n"
          "u = clamp(g / max(sqrt(v), epsilon), -C, C)\n"
          "m = select(t == 1, m, beta1 * m + (1 - beta1) * u)\n"
          "v = select(t == 1, g^2, beta2 * v + (1 - beta2) * g^2)\n"
          "p = p - select(t == 1, 0, learning_rate) * m",
      .fields = kFields,
      .settings = {},
      .choices = kChoices,
      .states = kStates,
      .requirements = {}};

  static constexpr bool kOneKernel = true;
  static constexpr Decay decay(const std::int32_t* /*choices*/) { return Decay::coupled; }

  static constexpr int kVariants = 1;
  static constexpr int variant(const Setup& /*setup*/) { return 0; }
  static constexpr std::uint32_t states(int /*variant*/) { return 0b11; }

  static double largest_gradient(const Setup& /*setup*/, double largest) { return largest_square(0, largest); }

  /// In the first step m stays 0, v becomes g^2, and u counts as 0.
  template <class T>
  struct Constants {
    T keep1, take1;  ///< of m and u
    T keep2, take2;  ///< of v and g^2
    T of_m, of_u, bound, epsilon;
  };

  static GRADSTEP_FORMULA Constants<double> constants(const std::int32_t* choices, const double* v,
                                                      const Clock& clock) {
    if (clock.is_first) return {1, 0, 0, 1, 0, 0, 0, v[epsilon]};
    const double rate = v[learning_rate];
    const double count = static_cast<double>(clock.t) + (choices[clipping] == optax ? 0 : 1);
    const double bound =
        choices[clipping] == none ? __builtin_inf() : kernels::square_root(kernels::square_root(count));
    const bool looks_ahead = choices[nesterov] != 0;
    return {v[beta1],
            1 - v[beta1],
            v[beta2],
            1 - v[beta2],
            looks_ahead ? rate * v[beta1] : rate,
            looks_ahead ? rate * (1 - v[beta1]) : 0,
            bound,
            v[epsilon]};
  }

  /// Returns the change of p.
  template <class T, int kVariant, class V>
  static GRADSTEP_FORMULA V delta(const Constants<T>& c, V /*p*/, V g, V* state, T largest) {
    const V least = c.epsilon + V{};
    const V root = kernels::square_root(state[1]);
    const V u = kernels::clamp(g / (root > least ? root : least), c.bound + V{});
    const V m = c.keep1 * state[0] + c.take1 * u;
    state[0] = m;
    state[1] = kernels::storable(c.keep2 * state[1] + c.take2 * g * g, largest);
    return -(c.of_m * m + c.of_u * u);
  }
};

}  // namespace gradstep::rules
