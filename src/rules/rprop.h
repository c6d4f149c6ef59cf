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

struct Rprop {
  enum : std::uint8_t { learning_rate, eta_minus, eta_plus, minimum_step, maximum_step, weight_decay };
  static constexpr Field kFields[] = {
      {"learning_rate", at_least(0), kRequired, "first step size of every element; later ones are states"},
      {"eta_minus", kFraction, 0.5, "times the step size where the gradient has turned"},
      {"eta_plus", at_least(1), 1.2, "times the step size where it has not"},
      {"minimum_step", at_least(0), 1e-6, "least step size"},
      {"maximum_step", at_least(0), 50, "largest step size"},
      {"weight_decay", at_least(0), 0, "times p is added to the gradient"},
  };

  static constexpr State kStates[] = {{.name = "previous_gradient", .has_signs = true}, {.name = "step_size"}};

  static constexpr Description kAbout = {
      .name = "rprop",
      .source = "Riedmiller and Braun 1993, RPROP; the numbers of torch",
      .formula =
          "s = -1, 0 or 1, by the signs of g and of g before\n"
          "step = clamp(step * (eta_plus if s > 0, eta_minus if s < 0, else 1), minimum_step, maximum_step)\n"
          "g = 0 where s < 0\n"
          "p = p - sign(g) * step; the first step is learning_rate",
      .text =
          "rule my_rprop\n"
          "hyper learning_rate in [0, inf); eta_minus = 0.5 in [0, 1); eta_plus = 1.2 in [1, inf)\n"
          "hyper minimum_step = 1e-6 in [0, inf); maximum_step = 50 in [0, inf)\n"
          "state before; step_size unsigned\n"
          "s = sign(g) * sign(before)\n"
          "factor = select(s > 0, eta_plus, select(s < 0, eta_minus, 1))\n"
          "step_size = clamp(factor * select(t == 1, learning_rate, step_size), minimum_step, maximum_step)\n"
          "before = select(s < 0, 0, g)\n"
          "p = p - sign(before) * step_size",
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

  static double largest_gradient(const Setup& /*setup*/, double largest) { return largest; }

  template <class T>
  struct Constants {
    T first_step, is_first, eta_minus, eta_plus, minimum_step, maximum_step;
  };

  static GRADSTEP_FORMULA Constants<double> constants(const std::int32_t* /*choices*/, const double* v,
                                                      const Clock& clock) {
    return {v[learning_rate], clock.is_first ? 1.0 : 0.0, v[eta_minus], v[eta_plus], v[minimum_step], v[maximum_step]};
  }

  /// Returns the change of p.
  template <class T, int kVariant, class V>
  static GRADSTEP_FORMULA V delta(const Constants<T>& c, V /*p*/, V g, V* state, T /*largest*/) {
    const V zero{};
    const V one = zero + T{1};
    // By signs: the product of two small gradients may be 0.
    const V turned = kernels::sign<T>(g) * kernels::sign<T>(state[0]);
    const V factor = turned > zero ? zero + c.eta_plus : (turned < zero ? zero + c.eta_minus : one);
    V step = factor * (zero + c.is_first > zero ? zero + c.first_step : state[1]);
    step = step < zero + c.minimum_step ? zero + c.minimum_step : step;
    step = step > zero + c.maximum_step ? zero + c.maximum_step : step;
    const V seen = turned < zero ? zero : g;
    state[0] = seen;
    state[1] = step;
    return -(kernels::sign<T>(seen) * step);
  }
};

}  // namespace gradstep::rules
