// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/elementary.h"
#include "kernels/macros.h"
#include "kernels/stored.h"
#include "rules/clock.h"
#include "rules/description.h"
#include "rules/limits.h"

namespace gradstep::rules {

struct AdEMAMix {
  enum : std::uint8_t { learning_rate, beta1, beta2, beta3, alpha, epsilon, weight_decay };
  static constexpr Field kFields[] = {
      {"learning_rate", at_least(0), kRequired, "step size"},
      {"beta1", kFraction, 0.9, "share of the fast mean that a step keeps"},
      {"beta2", kFraction, 0.999, "share of the mean square that a step keeps"},
      {"beta3", kFraction, 0.9999, "share of the slow mean that a step keeps"},
      {"alpha", at_least(0), 5, "weight of the slow mean"},
      {"epsilon", at_least(0), 1e-8, "keeps the denominator from zero"},
      {"weight_decay", at_least(0), 0, "learning_rate * weight_decay * p is subtracted from p"},
  };

  enum : std::uint8_t { alpha_steps, beta3_steps };
  static constexpr Field kSettings[] = {
      {"alpha_steps", whole(0, 999999999), 0, "steps in which alpha rises; 0 = none"},
      {"beta3_steps", whole(0, 999999999), 0, "steps in which beta3 rises; 0 = none"}};

  enum : std::uint8_t { warmup };
  static constexpr const char* kWarmups[] = {"logarithm", "half_life"};
  enum : std::uint8_t { logarithm, half_life };
  static constexpr Choice kChoices[] = {
      {"warmup", kWarmups,
       "how beta3 rises. logarithm: as the paper and pytorch_optimizer; half_life: linear in it, as NVIDIA"}};

  static constexpr State kStates[] = {
      {.name = "exp_avg_fast", .has_signs = true}, {.name = "exp_avg_slow", .has_signs = true}, {.name = "exp_avg_sq"}};

  static constexpr Description kAbout = {
      .name = "ademamix",
      .source =
          "Pagliardini et al. 2024, The AdEMAMix Optimizer, algorithm 1; the numbers of optax, pytorch_optimizer and "
          "NVIDIA",
      .formula =
          "m = beta1 * m + (1 - beta1) * g\n"
          "s = B * s + (1 - B) * g\n"
          "v = beta2 * v + (1 - beta2) * g^2\n"
          "u = (m / (1 - beta1^(t+1)) + A * s) / (sqrt(v / (1 - beta2^(t+1))) + epsilon)\n"
          "p = p - learning_rate * u\n"
          "A rises from 0 to alpha in alpha_steps, B from beta1 to beta3 in beta3_steps: by their logarithms, or by "
          "half-lives",
      .text =
          "rule my_ademamix\n"
          "hyper learning_rate in [0, inf); beta1 = 0.9 in [0, 1); beta2 = 0.999 in [0, 1)\n"
          "hyper beta3 = 0.9999 in [0, 1); alpha = 5 in [0, inf); epsilon = 1e-8 in [0, inf)\n"
          "hyper alpha_steps = 0 in [0, inf); beta3_steps = 0 in [0, inf)\n"
          "state m; s; v unsigned\n"
          "A = alpha * select(t < alpha_steps, t / alpha_steps, 1)\n"
          "share = t / beta3_steps\n"
          "B = exp(log(beta1) * log(beta3) / ((1 - share) * log(beta3) + share * log(beta1)))\n"
          "B = select(t < beta3_steps, min(B, beta3), beta3)\n"
          "m = beta1 * m + (1 - beta1) * g\n"
          "s = B * s + (1 - B) * g\n"
          "v = beta2 * v + (1 - beta2) * g^2\n"
          "p = p - learning_rate * (m / (1 - beta1^t) + A * s) / (sqrt(v / (1 - beta2^t)) + epsilon)",
      .fields = kFields,
      .settings = kSettings,
      .choices = kChoices,
      .states = kStates,
      .requirements = {}};

  static constexpr bool kOneKernel = true;
  static constexpr Decay decay(const std::int32_t* /*choices*/) { return Decay::decoupled; }

  static constexpr int kVariants = 1;
  static constexpr int variant(const Setup& /*setup*/) { return 0; }
  static constexpr std::uint32_t states(int /*variant*/) { return 0b111; }

  static double largest_gradient(const Setup& setup, double largest) {
    return largest_square(setup.constant(beta2, 0), largest);
  }

  template <class T>
  struct Constants {
    T beta1, one_minus_beta1, beta2, one_minus_beta2, beta3, one_minus_beta3, of_m, of_s, correct2, epsilon;
  };

  static GRADSTEP_FORMULA Constants<double> constants(const std::int32_t* choices, const double* v,
                                                      const Clock& clock) {
    const auto step = static_cast<double>(clock.t + 1);
    const double alpha_now =
        step < clock.settings[alpha_steps] ? v[alpha] * (step / clock.settings[alpha_steps]) : v[alpha];
    double slow = v[beta3];
    if (step < clock.settings[beta3_steps]) {
      const double share = step / clock.settings[beta3_steps];
      if (choices[warmup] == half_life) {
        const double from = half_life_of(v[beta1]);
        slow = kernels::exponential(kernels::logarithm(0.5) / (from + share * (half_life_of(v[beta3]) - from) + 1));
      } else {
        const double fast_log = kernels::logarithm(v[beta1]);
        const double slow_log = kernels::logarithm(v[beta3]);
        slow = kernels::exponential(fast_log * slow_log / ((1 - share) * slow_log + share * fast_log));
        slow = slow < v[beta3] ? slow : v[beta3];
      }
    }
    return {v[beta1],
            1 - v[beta1],
            v[beta2],
            1 - v[beta2],
            slow,
            1 - slow,
            v[learning_rate] / (1 - clock.power(0, v[beta1])),
            v[learning_rate] * alpha_now,
            1 / (1 - clock.power(1, v[beta2])),
            v[epsilon]};
  }

  static GRADSTEP_FORMULA double half_life_of(double beta) {
    return kernels::logarithm(0.5) / kernels::logarithm(beta + 1e-8) - 1;
  }

  /// Returns the change of p.
  template <class T, int kVariant, class V>
  static GRADSTEP_FORMULA V delta(const Constants<T>& c, V /*p*/, V g, V* state, T largest) {
    const V m = c.beta1 * state[0] + c.one_minus_beta1 * g;
    const V s = c.beta3 * state[1] + c.one_minus_beta3 * g;
    const V v = kernels::storable(c.beta2 * state[2] + c.one_minus_beta2 * g * g, largest);
    state[0] = m;
    state[1] = s;
    state[2] = v;
    return -((c.of_m * m + c.of_s * s) / (kernels::square_root(v * c.correct2) + c.epsilon));
  }
};

}  // namespace gradstep::rules
