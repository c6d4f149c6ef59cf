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

struct RAdam {
  enum : std::uint8_t { learning_rate, beta1, beta2, epsilon, epsilon_root, threshold, weight_decay };
  static constexpr Field kFields[] = {
      {"learning_rate", at_least(0), kRequired, "step size"},
      {"beta1", kFraction, 0.9, "share of the mean that a step keeps"},
      {"beta2", kFraction, 0.999, "share of the mean square that a step keeps"},
      {"epsilon", at_least(0), 1e-8, "keeps the denominator from zero"},
      {"epsilon_root", at_least(0), 0, "joins the corrected mean square under the root"},
      {"threshold", at_least(4), 5, "the smallest r, for form optax; torch has 5"},
      {"weight_decay", at_least(0), 0, "times p is added to the gradient"},
  };

  enum : std::uint8_t { form, nesterov };
  static constexpr const char* kForms[] = {"torch", "optax"};
  enum : std::uint8_t { torch, optax };
  static constexpr Choice kChoices[] = {{"form", kForms, "torch or optax"}, {"nesterov", {}, "looks one step ahead"}};

  static constexpr State kStates[] = {{.name = "exp_avg", .has_signs = true}, {.name = "exp_avg_sq"}};

  static constexpr Description kAbout = {
      .name = "radam",
      .source = "Liu et al. 2020, On the Variance of the Adaptive Learning Rate; the numbers of torch and of optax",
      .formula =
          "m = beta1 * m + (1 - beta1) * g\n"
          "v = beta2 * v + (1 - beta2) * g^2\n"
          "M = m / (1 - beta1^(t+1)); with nesterov beta1 * m / (1 - beta1^(t+2)) + (1 - beta1) * g / (1 - "
          "beta1^(t+1))\n"
          "R = 2 / (1 - beta2) - 1, r = R - 2 * (t+1) * beta2^(t+1) / (1 - beta2^(t+1))\n"
          "s = sqrt((r - 4) * (r - 2) * R / ((R - 4) * (R - 2) * r)) where r is above the threshold, and else p = p - "
          "learning_rate * M\n"
          "form torch: p = p - learning_rate * s * M * sqrt(1 - beta2^(t+1)) / (sqrt(v) + epsilon)\n"
          "form optax: p = p - learning_rate * s * M / (sqrt(v / (1 - beta2^(t+1)) + epsilon_root) + epsilon)",
      .text =
          "rule my_radam\n"
          "hyper learning_rate in [0, inf)\n"
          "hyper beta1 = 0.9 in [0, 1); beta2 = 0.999 in [0, 1); epsilon = 1e-8 in [0, inf)\n"
          "state m; v unsigned\n"
          "m = beta1 * m + (1 - beta1) * g\n"
          "v = beta2 * v + (1 - beta2) * g^2\n"
          "M = m / (1 - beta1^t)\n"
          "R = 2 / (1 - beta2) - 1\n"
          "r = R - 2 * t * beta2^t / (1 - beta2^t)\n"
          "s = sqrt((r - 4) * (r - 2) * R / ((R - 4) * (R - 2) * r))\n"
          "p = p - learning_rate * select(r > 5, s * M * sqrt(1 - beta2^t) / (sqrt(v) + epsilon), M)",
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

  static double largest_gradient(const Setup& setup, double largest) {
    return largest_square(setup.constant(beta2, 0), largest);
  }

  template <class T>
  struct Constants {
    T beta1, one_minus_beta1, beta2, one_minus_beta2, of_m, of_g, correct2, epsilon_root, of_root, epsilon;
  };

  static GRADSTEP_FORMULA Constants<double> constants(const std::int32_t* choices, const double* v,
                                                      const Clock& clock) {
    const double beta = v[beta1];
    const double now = clock.power(0, beta);
    const double now2 = clock.power(1, v[beta2]);
    const bool looks_ahead = choices[nesterov] != 0;
    const double longest = 2 / (1 - v[beta2]) - 1;
    const double length = longest - 2 * static_cast<double>(clock.t + 1) * now2 / (1 - now2);
    const bool is_torch = choices[form] == torch;
    const bool is_rectified = is_torch ? length > 5 : length >= v[threshold];
    double rate = v[learning_rate];
    if (is_rectified) {
      rate *= kernels::square_root((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length));
      if (is_torch) rate *= kernels::square_root(1 - now2);
    }
    const double of_m = looks_ahead ? rate * beta / (1 - now * beta) : rate / (1 - now);
    const double of_g = looks_ahead ? rate * (1 - beta) / (1 - now) : 0;
    return {beta,
            1 - beta,
            v[beta2],
            1 - v[beta2],
            of_m,
            of_g,
            is_torch ? 1 : 1 / (1 - now2),
            is_torch ? 0 : v[epsilon_root],
            is_rectified ? 1.0 : 0.0,
            is_rectified ? v[epsilon] : 1};
  }

  /// Returns the change of p.
  template <class T, int kVariant, class V>
  static GRADSTEP_FORMULA V delta(const Constants<T>& c, V /*p*/, V g, V* state, T largest) {
    const V m = c.beta1 * state[0] + c.one_minus_beta1 * g;
    state[0] = m;
    const V v = kernels::storable(c.beta2 * state[1] + c.one_minus_beta2 * g * g, largest);
    state[1] = v;
    const V root = kernels::square_root(v * c.correct2 + c.epsilon_root);
    return -((c.of_m * m + c.of_g * g) / (c.of_root * root + c.epsilon));
  }
};

}  // namespace gradstep::rules
