// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/elementary.h"
#include "kernels/macros.h"
#include "kernels/power.h"
#include "kernels/stored.h"
#include "rules/clock.h"
#include "rules/description.h"
#include "rules/limits.h"

namespace gradstep::rules {

struct NAdam {
  enum : std::uint8_t { learning_rate, beta1, beta2, epsilon, epsilon_root, momentum_decay, weight_decay };
  static constexpr Field kFields[] = {
      {"learning_rate", at_least(0), kRequired, "step size"},
      {"beta1", kFraction, 0.9, "share of the mean that a step keeps"},
      {"beta2", kFraction, 0.999, "share of the mean square that a step keeps"},
      {"epsilon", at_least(0), 1e-8, "keeps the denominator from zero"},
      {"epsilon_root", at_least(0), 0, "joins the corrected mean square under the root"},
      {"momentum_decay", at_least(0), 0.004, "how soon the momentum of form torch reaches beta1"},
      {"weight_decay", at_least(0), 0, "times p is added to the gradient"},
  };

  enum : std::uint8_t { form };
  static constexpr const char* kForms[] = {"torch", "optax"};
  enum : std::uint8_t { torch, optax };
  static constexpr Choice kChoices[] = {{"form", kForms, "torch or optax"}};

  static constexpr State kStates[] = {{.name = "exp_avg", .has_signs = true}, {.name = "exp_avg_sq"}};

  static constexpr Description kAbout = {
      .name = "nadam",
      .source =
          "Dozat 2016, Incorporating Nesterov Momentum into Adam; the numbers of torch and of optax, which differ",
      .formula =
          "m = beta1 * m + (1 - beta1) * g\n"
          "v = beta2 * v + (1 - beta2) * g^2\n"
          "d = sqrt(v / (1 - beta2^(t+1)) + epsilon_root) + epsilon\n"
          "form torch, mu(i) = beta1 * (1 - 0.96^(i * momentum_decay) / 2), M = mu(1) * ... * mu(t+1):\n"
          "p = p - learning_rate * ((1 - mu(t+1)) / (1 - M) * g + mu(t+2) / (1 - M * mu(t+2)) * m) / d\n"
          "form optax: p = p - learning_rate * ((1 - beta1) / (1 - beta1^(t+1)) * g + beta1 / (1 - beta1^(t+2)) * m) / "
          "d",
      .text =
          "rule my_nadam\n"
          "hyper learning_rate in [0, inf); beta1 = 0.9 in [0, 1); beta2 = 0.999 in [0, 1)\n"
          "hyper epsilon = 1e-8 in [0, inf); epsilon_root = 0 in [0, inf); momentum_decay = 0.004 in [0, inf)\n"
          "state m; v unsigned; M unsigned  # M is equal in all elements\n"
          "m = beta1 * m + (1 - beta1) * g\n"
          "v = beta2 * v + (1 - beta2) * g^2\n"
          "mu = beta1 * (1 - 0.96^(t * momentum_decay) / 2)\n"
          "next = beta1 * (1 - 0.96^((t + 1) * momentum_decay) / 2)\n"
          "M = select(t == 1, 1, M) * mu\n"
          "u = (1 - mu) / (1 - M) * g + next / (1 - M * next) * m\n"
          "p = p - learning_rate * u / (sqrt(v / (1 - beta2^t) + epsilon_root) + epsilon)",
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
    T beta1, one_minus_beta1, beta2, one_minus_beta2, of_g, of_m, correct2, epsilon, epsilon_root;
  };

  static GRADSTEP_FORMULA Constants<double> constants(const std::int32_t* choices, const double* v,
                                                      const Clock& clock) {
    const double rate = v[learning_rate];
    const double beta = v[beta1];
    double of_g = 0;
    double of_m = 0;
    if (choices[form] == optax) {
      const double now = clock.power(0, beta);
      of_g = rate * (1 - beta) / (1 - now);
      of_m = rate * beta / (1 - now * beta);
    } else {
      const double shrinks = kernels::exponential(v[momentum_decay] * kernels::logarithm(0.96));
      const auto mu = [&](std::int64_t i) { return beta * (1 - kernels::Power()(shrinks, i) / 2); };
      const double all =
          clock.fold(beta, v[momentum_decay], 1, [&](double product, std::int64_t i) { return product * mu(i); });
      const double next = mu(clock.t + 2);
      of_g = rate * (1 - mu(clock.t + 1)) / (1 - all);
      of_m = rate * next / (1 - all * next);
    }
    return {beta,       1 - beta,       v[beta2], 1 - v[beta2], of_g, of_m, 1 / (1 - clock.power(1, v[beta2])),
            v[epsilon], v[epsilon_root]};
  }

  /// Returns the change of p.
  template <class T, int kVariant, class V>
  static GRADSTEP_FORMULA V delta(const Constants<T>& c, V /*p*/, V g, V* state, T largest) {
    const V m = c.beta1 * state[0] + c.one_minus_beta1 * g;
    state[0] = m;
    const V v = kernels::storable(c.beta2 * state[1] + c.one_minus_beta2 * g * g, largest);
    state[1] = v;
    return -((c.of_g * g + c.of_m * m) / (kernels::square_root(v * c.correct2 + c.epsilon_root) + c.epsilon));
  }
};

}  // namespace gradstep::rules
