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

struct DAdaptAdam {
  enum : std::uint8_t { learning_rate, beta1, beta2, epsilon, weight_decay };
  static constexpr Field kFields[] = {
      {"learning_rate", at_least(0), kRequired, "step size, beside the distance d; 1 is usual"},
      {"beta1", kFraction, 0.9, "share of the mean that a step keeps"},
      {"beta2", kFraction, 0.999, "share of the mean square that a step keeps"},
      {"epsilon", at_least(0), 1e-8, "keeps the denominator from zero"},
      {"weight_decay", at_least(0), 0, "d * learning_rate * weight_decay * p is subtracted from p"},
  };

  enum : std::uint8_t { d0, d_growth };
  static constexpr Field kSettings[] = {
      {"d0", {.minimum = 1e-30}, 1e-6, "the distance at first"},
      {"d_growth", at_least(1), 1e300, "d grows at most by this factor in a step"},
  };

  enum : std::uint8_t { bias_correction };
  static constexpr Choice kChoices[] = {
      {"bias_correction", {}, "the learning rate is times sqrt(1 - beta2^k) / (1 - beta1^k)"}};

  static constexpr State kStates[] = {
      {.name = "exp_avg", .has_signs = true}, {.name = "exp_avg_sq"}, {.name = "s", .has_signs = true}};

  enum : std::uint8_t { d, numerator, steps };
  static constexpr Number kNumbers[] = {{.name = "d", .initial = d0}, {.name = "d_numerator"}, {.name = "d_steps"}};

  static constexpr Description kAbout = {
      .name = "dadapt_adam",
      .source =
          "Defazio and Mishchenko 2023, Learning-Rate-Free Learning by D-Adaptation, algorithm 5; the numbers of "
          "pytorch_optimizer, and of optax with bias_correction",
      .formula =
          "one d of all parameters, d0 at first; r = d * learning_rate, corrected where asked for; b = sqrt(beta2)\n"
          "N = b * N + (1 - b) * r * sum(g * s / (sqrt(v) + epsilon)), with s and v of the step before\n"
          "m = beta1 * m + (1 - beta1) * r * g\n"
          "v = beta2 * v + (1 - beta2) * g^2\n"
          "s = b * s + (1 - b) * r * g\n"
          "D = N / ((1 - b) * sum(abs(s))); d = max(d, min(D, d * d_growth))\n"
          "p = p - m / (sqrt(v) + epsilon) - r * weight_decay * p\n"
          "a step in which all s are 0 changes nothing and does not count as one",
      .no_text = "it keeps more numbers than a text may have states",
      .fields = kFields,
      .settings = kSettings,
      .choices = kChoices,
      .states = kStates,
      .requirements = {},
      .numbers = kNumbers};

  static constexpr bool kOneKernel = true;
  static constexpr Decay decay(const std::int32_t* /*choices*/) { return Decay::none; }

  static constexpr int kVariants = 1;
  static constexpr int variant(const Setup& /*setup*/) { return 0; }
  static constexpr std::uint32_t states(int /*variant*/) { return 0b111; }

  static double largest_gradient(const Setup& setup, double largest) {
    return largest_square(setup.constant(beta2, 0), largest);
  }

  template <class T>
  struct Constants {
    T beta1, of_g, beta2, one_minus_beta2, keep_s, of_s;
    T epsilon, of_change, decay;
    T of_product, rate;
  };

  static GRADSTEP_FORMULA Constants<double> constants(const std::int32_t* choices, const double* v,
                                                      const Clock& clock) {
    double rate = clock.numbers[d] * v[learning_rate];
    if (choices[bias_correction] != 0) {
      const auto count = static_cast<std::int64_t>(clock.numbers[steps]) + 1;
      rate *= kernels::square_root(1 - clock.powers.of[1](v[beta2], count)) / (1 - clock.powers.of[0](v[beta1], count));
    }
    const double b = kernels::square_root(v[beta2]);
    return {v[beta1], rate * (1 - v[beta1]),  v[beta2],       1 - v[beta2], b, rate * (1 - b), v[epsilon],
            1,        rate * v[weight_decay], rate * (1 - b), rate};
  }

  static constexpr int kSums = 2;
  static constexpr Scope kScope = Scope::rule;

  /// g * s / (sqrt(v) + epsilon) of the step before, and |s| of this one.
  template <class T, int kVariant, class V>
  static GRADSTEP_FORMULA void measure(const Constants<T>& c, V /*p*/, V g, const V* state, V* a, V* b) {
    const V zero{};
    const V s = state[2];
    const V scaled = s / (kernels::square_root(state[1]) + c.epsilon);
    a[0] = s < zero || s > zero ? scaled : zero;
    b[0] = g;
    a[1] = kernels::magnitude(c.keep_s * s + c.of_s * g);
    b[1] = T{1} + V{};
  }

  static GRADSTEP_FORMULA void advance(const std::int32_t* /*choices*/, const double* settings, const double* sums,
                                       double* numbers, Constants<double>& c) {
    if (!(sums[1] > 0)) {
      c.of_change = c.decay = 0;
      return;
    }
    numbers[numerator] = c.keep_s * numbers[numerator] + c.of_product * sums[0];
    if (c.rate > 0) {
      const double estimate = numbers[numerator] / ((1 - c.keep_s) * sums[1]);
      const double most = numbers[d] * settings[d_growth];
      const double distance = estimate < most ? estimate : most;
      if (distance > numbers[d]) numbers[d] = distance;
    }
    numbers[steps] += 1;
  }

  /// Returns the change of p.
  template <class T, int kVariant, class V>
  static GRADSTEP_FORMULA V delta(const Constants<T>& c, V p, V g, V* state, T largest) {
    const V m = c.beta1 * state[0] + c.of_g * g;
    const V v = kernels::storable(c.beta2 * state[1] + c.one_minus_beta2 * g * g, largest);
    state[0] = m;
    state[1] = v;
    state[2] = c.keep_s * state[2] + c.of_s * g;
    return -(c.of_change * (m / (kernels::square_root(v) + c.epsilon)) + c.decay * p);
  }
};

}  // namespace gradstep::rules
