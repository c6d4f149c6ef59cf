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

struct Prodigy {
  enum : std::uint8_t { learning_rate, beta1, beta2, beta3, epsilon, weight_decay };
  static constexpr Field kFields[] = {
      {"learning_rate", at_least(0), kRequired, "step size, beside the distance d; 1 is usual"},
      {"beta1", kFraction, 0.9, "share of the mean that a step keeps"},
      {"beta2", kFraction, 0.999, "share of the mean square that a step keeps"},
      {"beta3", kFraction, 0, "share of the estimate of d that a step keeps; 0 = sqrt(beta2)"},
      {"epsilon", at_least(0), 1e-8, "d * epsilon keeps the denominator from zero"},
      {"weight_decay", at_least(0), 0, "d * learning_rate * weight_decay * p is subtracted from p"},
  };

  enum : std::uint8_t { d0, d_factor, d_growth };
  static constexpr Field kSettings[] = {
      {"d0", {.minimum = 1e-30}, 1e-6, "the distance at first"},
      {"d_factor", at_least(0), 1, "times the estimate of the distance"},
      {"d_growth", at_least(1), 1e300, "d grows at most by this factor in a step"},
  };

  enum : std::uint8_t { bias_correction, safeguard_warmup };
  static constexpr Choice kChoices[] = {
      {"bias_correction", {}, "the learning rate is times sqrt(1 - beta2^k) / (1 - beta1^k)"},
      {"safeguard_warmup", {}, "the learning rate does not join the denominator of the estimate"}};

  static constexpr State kStates[] = {{.name = "exp_avg", .has_signs = true},
                                      {.name = "exp_avg_sq"},
                                      {.name = "s", .has_signs = true},
                                      {.name = "p0", .has_signs = true, .is_exact = true}};

  enum : std::uint8_t { d, d_max, numerator, steps };
  static constexpr Number kNumbers[] = {
      {.name = "d", .initial = d0}, {.name = "d_max", .initial = d0}, {.name = "d_numerator"}, {.name = "d_steps"}};

  static constexpr Description kAbout = {
      .name = "prodigy",
      .source =
          "Mishchenko and Defazio 2023, Prodigy, algorithm 3; the numbers of prodigyopt, and of optax with "
          "bias_correction",
      .formula =
          "one d of all parameters, d0 at first; p0 = p at first; r = d * learning_rate, corrected where asked for\n"
          "N = beta3 * N + d / d0 * r * sum((p0 - p) * g)\n"
          "s = beta3 * s + d / d0 * r * g, with safeguard_warmup d / d0 * d * g\n"
          "m = beta1 * m + (1 - beta1) * d * g\n"
          "v = beta2 * v + (1 - beta2) * (d * g)^2\n"
          "D = d_factor * N / sum(abs(s)); d = max(d, D) while it is d0; d = min(largest D so far, d * d_growth)\n"
          "p = p - r * (m / (sqrt(v) + d * epsilon) + weight_decay * p), with the new d\n"
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
  static constexpr std::uint32_t states(int /*variant*/) { return 0b1111; }

  static double largest_gradient(const Setup& setup, double largest) {
    return largest_square(setup.constant(beta2, 0), largest);
  }

  template <class T>
  struct Constants {
    T keep_p0, take_p;  ///< p0 is p at first
    T beta1, of_g, beta2, of_square, beta3, of_s;
    T rate, decay;
    T d_epsilon;  ///< of the present d, then of the new one
    T of_product, d;
  };

  static GRADSTEP_FORMULA Constants<double> constants(const std::int32_t* choices, const double* v,
                                                      const Clock& clock) {
    const double distance = clock.numbers[d];
    double rate = distance * v[learning_rate];
    if (choices[bias_correction] != 0) {
      const auto count = static_cast<std::int64_t>(clock.numbers[steps]) + 1;
      rate *= kernels::square_root(1 - clock.powers.of[1](v[beta2], count)) / (1 - clock.powers.of[0](v[beta1], count));
    }
    const double relative = distance / clock.settings[d0];
    return {clock.is_first ? 0.0 : 1.0,
            clock.is_first ? 1.0 : 0.0,
            v[beta1],
            distance * (1 - v[beta1]),
            v[beta2],
            distance * distance * (1 - v[beta2]),
            v[beta3] > 0 ? v[beta3] : kernels::square_root(v[beta2]),
            relative * (choices[safeguard_warmup] != 0 ? distance : rate),
            rate,
            rate * v[weight_decay],
            v[epsilon],
            v[learning_rate] > 0 ? relative * rate : 0,
            distance};
  }

  static constexpr int kSums = 2;
  static constexpr Scope kScope = Scope::rule;

  /// (p0 - p) * g, and |s| of the step.
  template <class T, int kVariant, class V>
  static GRADSTEP_FORMULA void measure(const Constants<T>& c, V p, V g, const V* state, V* a, V* b) {
    a[0] = c.keep_p0 * state[3] + c.take_p * p - p;
    b[0] = g;
    a[1] = kernels::magnitude(c.beta3 * state[2] + c.of_s * g);
    b[1] = T{1} + V{};
  }

  static GRADSTEP_FORMULA void advance(const std::int32_t* /*choices*/, const double* settings, const double* sums,
                                       double* numbers, Constants<double>& c) {
    if (!(sums[1] > 0)) {
      c.rate = c.decay = 0;
      c.d_epsilon = 1;
      return;
    }
    numbers[numerator] = c.beta3 * numbers[numerator] + c.of_product * sums[0];
    double distance = numbers[d];
    if (c.rate > 0) {
      const double estimate = settings[d_factor] * numbers[numerator] / sums[1];
      if (distance == settings[d0] && estimate > distance) distance = estimate;
      if (estimate > numbers[d_max]) numbers[d_max] = estimate;
      distance *= settings[d_growth];
      if (!(distance < numbers[d_max])) distance = numbers[d_max];
    }
    numbers[d] = distance;
    numbers[steps] += 1;
    c.d_epsilon *= distance;
  }

  /// Returns the change of p.
  template <class T, int kVariant, class V>
  static GRADSTEP_FORMULA V delta(const Constants<T>& c, V p, V g, V* state, T largest) {
    const V m = c.beta1 * state[0] + c.of_g * g;
    const V v = kernels::storable(c.beta2 * state[1] + c.of_square * g * g, largest);
    state[0] = m;
    state[1] = v;
    state[2] = c.beta3 * state[2] + c.of_s * g;
    state[3] = c.keep_p0 * state[3] + c.take_p * p;
    return -(c.rate * m / (kernels::square_root(v) + c.d_epsilon) + c.decay * p);
  }
};

}  // namespace gradstep::rules
