// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/macros.h"
#include "rules/clock.h"
#include "rules/description.h"
#include "rules/limits.h"

namespace gradstep::rules {

struct Lars {
  enum : std::uint8_t { learning_rate, momentum, trust_coefficient, epsilon, weight_decay };
  static constexpr Field kFields[] = {
      {"learning_rate", at_least(0), kRequired, "step size"},
      {"momentum", kFraction, 0.9, "share of the momentum that a step keeps"},
      {"trust_coefficient", at_least(0), 1e-3, "length of a step beside that of its parameter"},
      {"epsilon", at_least(0), 0, "joins the length of u"},
      {"weight_decay", at_least(0), 0, "times p is added to the gradient"},
  };

  enum : std::uint8_t { form, nesterov };
  static constexpr const char* kForms[] = {"optax", "pytorch_optimizer"};
  enum : std::uint8_t { optax, pytorch_optimizer };
  static constexpr Choice kChoices[] = {
      {"form", kForms, "optax or pytorch_optimizer: what the ratio is, and when the learning rate multiplies"},
      {"nesterov", {}, "looks one step ahead"}};

  static constexpr State kStates[] = {{.name = "momentum", .has_signs = true}};

  static constexpr Description kAbout = {
      .name = "lars",
      .source =
          "You et al. 2017, Large Batch Training of Convolutional Networks; the numbers of optax and of "
          "pytorch_optimizer",
      .formula =
          "norms are of the tensor; r is 1 where it would be 0 or divide by 0\n"
          "u = g + weight_decay * p\n"
          "form optax: r = trust_coefficient * norm(p) / (norm(u) + epsilon)\n"
          "form pytorch_optimizer: r = trust_coefficient * norm(p) / (norm(g) + weight_decay * norm(p) + epsilon)\n"
          "m = momentum * m + rate * r * u, rate = learning_rate for form optax, 1 for pytorch_optimizer\n"
          "d = rate * r * u + momentum * m if nesterov, else m\n"
          "p = p - d for form optax, p - learning_rate * d for pytorch_optimizer",
      .text =
          "rule my_lars\n"
          "hyper learning_rate in [0, inf); momentum = 0.9 in [0, 1); trust_coefficient = 1e-3 in [0, inf)\n"
          "hyper epsilon = 0 in [0, inf); weight_decay = 0 in [0, inf)\n"
          "state m\n"
          "u = g + weight_decay * p\n"
          "r = select(norm(p) * norm(u) > 0, trust_coefficient * norm(p) / (norm(u) + epsilon), 1)\n"
          "m = momentum * m + learning_rate * r * u\n"
          "p = p - m",
      .fields = kFields,
      .settings = {},
      .choices = kChoices,
      .states = kStates,
      .requirements = {}};

  static constexpr bool kOneKernel = true;
  static constexpr Decay decay(const std::int32_t* /*choices*/) { return Decay::none; }

  static constexpr int kVariants = 1;
  static constexpr int variant(const Setup& /*setup*/) { return 0; }
  static constexpr std::uint32_t states(int /*variant*/) { return 0b1; }

  static double largest_gradient(const Setup& /*setup*/, double largest) { return largest; }

  template <class T>
  struct Constants {
    T decay;
    T decay_in_norm;  ///< of u, whose squares are measured
    T keep;
    T of_u;         ///< the ratio joins it
    T of_m, ahead;  ///< of what is subtracted
    T decay_beside_norm, trust_coefficient, epsilon;
  };

  static GRADSTEP_FORMULA Constants<double> constants(const std::int32_t* choices, const double* v,
                                                      const Clock& /*clock*/) {
    const bool is_optax = choices[form] == optax;
    const bool looks_ahead = choices[nesterov] != 0;
    const double after = is_optax ? 1 : v[learning_rate];
    return {v[weight_decay],
            is_optax ? v[weight_decay] : 0,
            v[momentum],
            is_optax ? v[learning_rate] : 1,
            looks_ahead ? after * v[momentum] : after,
            looks_ahead ? after : 0,
            is_optax ? 0 : v[weight_decay],
            v[trust_coefficient],
            v[epsilon]};
  }

  static constexpr int kSums = 2;

  /// The squares of p and of what the ratio divides by.
  template <class T, int kVariant, class V>
  static GRADSTEP_FORMULA void measure(const Constants<T>& c, V p, V g, const V* /*state*/, V* a, V* b) {
    a[0] = b[0] = p;
    a[1] = b[1] = g + c.decay_in_norm * p;
  }

  static GRADSTEP_FORMULA void advance(const std::int32_t* /*choices*/, const double* /*settings*/, const double* sums,
                                       double* /*numbers*/, Constants<double>& c) {
    const double p = kernels::square_root(sums[0]);
    const double u = kernels::square_root(sums[1]) + c.decay_beside_norm * p;
    if (p > 0 && u > 0) c.of_u = c.of_u * (c.trust_coefficient * p / (u + c.epsilon));
  }

  /// Returns the change of p.
  template <class T, int kVariant, class V>
  static GRADSTEP_FORMULA V delta(const Constants<T>& c, V p, V g, V* state, T /*largest*/) {
    const V u = c.of_u * (g + c.decay * p);
    const V m = c.keep * state[0] + u;
    state[0] = m;
    return -(c.of_m * m + c.ahead * u);
  }
};

}  // namespace gradstep::rules
