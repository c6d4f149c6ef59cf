// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/macros.h"
#include "rules/clock.h"
#include "rules/description.h"
#include "rules/limits.h"

namespace gradstep::rules {

struct NovoGrad {
  enum : std::uint8_t { learning_rate, beta1, beta2, epsilon, epsilon_root, weight_decay };
  static constexpr Field kFields[] = {
      {"learning_rate", at_least(0), kRequired, "step size"},
      {"beta1", kFraction, 0.9, "share of the momentum that a step keeps"},
      {"beta2", kFraction, 0.25, "share of the mean squared norm that a step keeps"},
      {"epsilon", at_least(0), 1e-6, "keeps the denominator from zero"},
      {"epsilon_root", at_least(0), 0, "joins the mean squared norm under the root"},
      {"weight_decay", at_least(0), 0, "times p joins the momentum"},
  };

  static constexpr State kStates[] = {{.name = "exp_avg", .has_signs = true}};

  enum : std::uint8_t { norm };
  static constexpr Number kNumbers[] = {{.name = "squared_norm"}};

  static constexpr Description kAbout = {
      .name = "novograd",
      .source =
          "Ginsburg et al. 2019, Stochastic Gradient Methods with Layer-wise Adaptive Moments; the numbers of optax",
      .formula =
          "v, one number of the tensor: norm(g)^2 in the first step, then beta2 * v + (1 - beta2) * norm(g)^2\n"
          "m = beta1 * m + (g / (sqrt(v + epsilon_root) + epsilon) + weight_decay * p)\n"
          "p = p - learning_rate * m",
      .text =
          "rule my_novograd\n"
          "hyper learning_rate in [0, inf); beta1 = 0.9 in [0, 1); beta2 = 0.25 in [0, 1)\n"
          "hyper epsilon = 1e-6 in [0, inf); epsilon_root = 0 in [0, inf); weight_decay = 0 in [0, inf)\n"
          "state m; v unsigned  # v is equal in all elements\n"
          "v = select(t == 1, sum(g^2), beta2 * v + (1 - beta2) * sum(g^2))\n"
          "m = beta1 * m + (g / (sqrt(v + epsilon_root) + epsilon) + weight_decay * p)\n"
          "p = p - learning_rate * m",
      .fields = kFields,
      .settings = {},
      .choices = {},
      .states = kStates,
      .requirements = {},
      .numbers = kNumbers};

  static constexpr bool kOneKernel = true;
  static constexpr Decay decay(const std::int32_t* /*choices*/) { return Decay::none; }

  static constexpr int kVariants = 1;
  static constexpr int variant(const Setup& /*setup*/) { return 0; }
  static constexpr std::uint32_t states(int /*variant*/) { return 0b1; }

  static double largest_gradient(const Setup& /*setup*/, double largest) { return largest; }

  template <class T>
  struct Constants {
    T beta1, decay, learning_rate;
    T keep, take;  ///< of v and the squared norm
    T epsilon, epsilon_root;
    T of_g;
  };

  static GRADSTEP_FORMULA Constants<double> constants(const std::int32_t* /*choices*/, const double* v,
                                                      const Clock& clock) {
    return {v[beta1],
            v[weight_decay],
            v[learning_rate],
            clock.is_first ? 0 : v[beta2],
            clock.is_first ? 1 : 1 - v[beta2],
            v[epsilon],
            v[epsilon_root],
            0};
  }

  static constexpr int kSums = 1;

  template <class T, int kVariant, class V>
  static GRADSTEP_FORMULA void measure(const Constants<T>& /*c*/, V /*p*/, V g, const V* /*state*/, V* a, V* b) {
    a[0] = b[0] = g;
  }

  static GRADSTEP_FORMULA void advance(const std::int32_t* /*choices*/, const double* /*settings*/, const double* sums,
                                       double* numbers, Constants<double>& c) {
    const double v = c.keep * numbers[norm] + c.take * sums[0];
    numbers[norm] = v;
    c.of_g = 1 / (kernels::square_root(v + c.epsilon_root) + c.epsilon);
  }

  /// Returns the change of p.
  template <class T, int kVariant, class V>
  static GRADSTEP_FORMULA V delta(const Constants<T>& c, V p, V g, V* state, T /*largest*/) {
    const V m = c.beta1 * state[0] + (c.of_g * g + c.decay * p);
    state[0] = m;
    return -(c.learning_rate * m);
  }
};

}  // namespace gradstep::rules
