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

struct Mars {
  enum : std::uint8_t { learning_rate, beta1, beta2, gamma, epsilon, weight_decay };
  static constexpr Field kFields[] = {
      {"learning_rate", at_least(0), kRequired, "step size"},
      {"beta1", kFraction, 0.95, "share of the mean that a step keeps"},
      {"beta2", kFraction, 0.99, "share of the mean square that a step keeps; of form adamw"},
      {"gamma", at_least(0), 0.025, "how much of the gradient's change is added to it"},
      {"epsilon", at_least(0), 1e-8, "keeps the denominator from zero; of form adamw"},
      {"weight_decay", at_least(0), 0, "learning_rate * weight_decay * p is subtracted from p"},
  };

  enum : std::uint8_t { form };
  static constexpr const char* kForms[] = {"adamw", "lion"};
  enum : std::uint8_t { adamw, lion };
  static constexpr Choice kChoices[] = {{"form", kForms, "adamw or lion: the rule that gets the gradient"}};

  static constexpr State kStates[] = {
      {.name = "exp_avg", .has_signs = true}, {.name = "exp_avg_sq"}, {.name = "previous_gradient", .has_signs = true}};

  static constexpr Description kAbout = {
      .name = "mars",
      .source =
          "Yuan et al. 2024, MARS: Unleashing the Power of Variance Reduction, algorithms 1 and 2; the numbers of "
          "pytorch_optimizer",
      .formula =
          "c = g + gamma * beta1 / (1 - beta1) * (g - g before), which is 0 at first\n"
          "c = c / max(1, norm(c)), the norm of the tensor\n"
          "m = beta1 * m + (1 - beta1) * c\n"
          "form adamw: v = beta2 * v + (1 - beta2) * c^2\n"
          "p = p - learning_rate * m / (1 - beta1^(t+1)) / ((sqrt(v + 1e-15) + epsilon) / sqrt(1 - beta2^(t+1)))\n"
          "form lion: p = p - learning_rate * sign(m)",
      .text =
          "rule my_mars\n"
          "hyper learning_rate in [0, inf); beta1 = 0.95 in [0, 1); beta2 = 0.99 in [0, 1)\n"
          "hyper gamma = 0.025 in [0, inf); epsilon = 1e-8 in [0, inf)\n"
          "state m; v unsigned; before\n"
          "c = g + gamma * beta1 / (1 - beta1) * (g - before)\n"
          "c = c / max(norm(c), 1)\n"
          "m = beta1 * m + (1 - beta1) * c\n"
          "v = beta2 * v + (1 - beta2) * c^2\n"
          "before = g\n"
          "p = p - learning_rate * m / (1 - beta1^t) / ((sqrt(v + 1e-15) + epsilon) / sqrt(1 - beta2^t))",
      .fields = kFields,
      .settings = {},
      .choices = kChoices,
      .states = kStates,
      .requirements = {}};

  static constexpr bool kOneKernel = true;
  static constexpr Decay decay(const std::int32_t* /*choices*/) { return Decay::decoupled; }

  static constexpr int kVariants = 2;
  static constexpr int variant(const Setup& setup) { return setup.choices[form]; }
  static constexpr std::uint32_t states(int variant) { return variant == adamw ? 0b111 : 0b101; }

  static double largest_gradient(const Setup& setup, double largest) {
    const double share = setup.constant(beta1, 0);
    return largest / (1 + 2 * setup.constant(gamma, 1) * share / (1 - share));
  }

  template <class T>
  struct Constants {
    T beta1, one_minus_beta1, beta2, one_minus_beta2;
    T share;  ///< of the gradient's change
    T step_size, correct2, epsilon, tiny;
    T of_c;
  };

  static GRADSTEP_FORMULA Constants<double> constants(const std::int32_t* choices, const double* v,
                                                      const Clock& clock) {
    const bool is_lion = choices[form] == lion;
    return {v[beta1],
            1 - v[beta1],
            v[beta2],
            1 - v[beta2],
            v[gamma] * v[beta1] / (1 - v[beta1]),
            is_lion ? v[learning_rate] : v[learning_rate] / (1 - clock.power(0, v[beta1])),
            is_lion ? 1 : 1 / kernels::square_root(1 - clock.power(1, v[beta2])),
            v[epsilon],
            1e-15,
            1};
  }

  template <class T, int kVariant, class V>
  static GRADSTEP_FORMULA V corrected(const Constants<T>& c, V g, const V* state) {
    return g + c.share * (g - state[kVariant == adamw ? 2 : 1]);
  }

  static constexpr int kSums = 1;

  template <class T, int kVariant, class V>
  static GRADSTEP_FORMULA void measure(const Constants<T>& c, V /*p*/, V g, const V* state, V* a, V* b) {
    a[0] = b[0] = corrected<T, kVariant>(c, g, state);
  }

  static GRADSTEP_FORMULA void advance(const std::int32_t* /*choices*/, const double* /*settings*/, const double* sums,
                                       double* /*numbers*/, Constants<double>& c) {
    if (sums[0] > 1) c.of_c = 1 / kernels::square_root(sums[0]);
  }

  /// Returns the change of p.
  template <class T, int kVariant, class V>
  static GRADSTEP_FORMULA V delta(const Constants<T>& c, V /*p*/, V g, V* state, T largest) {
    const V seen = c.of_c * corrected<T, kVariant>(c, g, state);
    const V m = c.beta1 * state[0] + c.one_minus_beta1 * seen;
    state[0] = m;
    if constexpr (kVariant == lion) {
      state[1] = g;
      return -(c.step_size * kernels::sign<T>(m));
    } else {
      const V v = kernels::storable(c.beta2 * state[1] + c.one_minus_beta2 * seen * seen, largest);
      state[1] = v;
      state[2] = g;
      return -(c.step_size * m / ((kernels::square_root(v + c.tiny) + c.epsilon) * c.correct2));
    }
  }
};

}  // namespace gradstep::rules
