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

struct Signum {
  enum : std::uint8_t { learning_rate, momentum, weight_decay };
  static constexpr Field kFields[] = {
      {"learning_rate", at_least(0), kRequired, "step size"},
      {"momentum", kFraction, 0.9, "share of the momentum that a step keeps; 0: signSGD"},
      {"weight_decay", at_least(0), 0, "learning_rate * weight_decay * p is subtracted from p"},
  };

  enum : std::uint8_t { nesterov };
  static constexpr Choice kChoices[] = {{"nesterov", {}, "looks one step ahead"}};

  static constexpr State kStates[] = {{.name = "momentum_buffer", .has_signs = true}};

  static constexpr Description kAbout = {
      .name = "signum",
      .source = "Bernstein et al. 2018, signSGD; the numbers of optax, with nesterov those of NVIDIA",
      .formula =
          "m = momentum * m + (1 - momentum) * g\n"
          "u = m; with nesterov momentum * m / (1 - momentum^(t+2)) + (1 - momentum) * g / (1 - momentum^(t+1))\n"
          "p = p - learning_rate * sign(u), where sign(0) = 0; without momentum sign(g)",
      .text =
          "rule my_signum\n"
          "hyper learning_rate in [0, inf); momentum = 0.9 in [0, 1)\n"
          "state m\n"
          "m = momentum * m + (1 - momentum) * g\n"
          "p = p - learning_rate * sign(m)",
      .fields = kFields,
      .settings = {},
      .choices = kChoices,
      .states = kStates,
      .requirements = {}};

  static constexpr bool kOneKernel = true;
  static constexpr Decay decay(const std::int32_t* /*choices*/) { return Decay::decoupled; }

  // 0: without momentum, 1: with it.
  static constexpr int kVariants = 2;
  static constexpr int variant(const Setup& setup) { return setup.has(momentum) ? 1 : 0; }
  static constexpr std::uint32_t states(int variant) { return variant == 0 ? 0 : 1; }

  static double largest_gradient(const Setup& /*setup*/, double largest) { return largest; }

  template <class T>
  struct Constants {
    T learning_rate, keep, take, of_m, of_g;
  };

  static GRADSTEP_FORMULA Constants<double> constants(const std::int32_t* choices, const double* v,
                                                      const Clock& clock) {
    const double share = v[momentum];
    if (choices[nesterov] == 0) return {v[learning_rate], share, 1 - share, 1, 0};
    const double now = clock.power(0, share);
    return {v[learning_rate], share, 1 - share, share / (1 - now * share), (1 - share) / (1 - now)};
  }

  /// Returns the change of p.
  template <class T, int kVariant, class V>
  static GRADSTEP_FORMULA V delta(const Constants<T>& c, V /*p*/, V g, V* state, T /*largest*/) {
    if constexpr (kVariant == 0) {
      return -(c.learning_rate * kernels::sign<T>(g));
    } else {
      const V m = c.keep * state[0] + c.take * g;
      state[0] = m;
      return -(c.learning_rate * kernels::sign<T>(c.of_m * m + c.of_g * g));
    }
  }
};

}  // namespace gradstep::rules
