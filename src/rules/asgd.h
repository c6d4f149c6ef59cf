// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/elementary.h"
#include "kernels/macros.h"
#include "rules/clock.h"
#include "rules/description.h"
#include "rules/limits.h"

namespace gradstep::rules {

struct Asgd {
  enum : std::uint8_t { learning_rate, shrinkage, exponent, averaging_start, weight_decay };
  static constexpr Field kFields[] = {
      {"learning_rate", at_least(0), kRequired, "step size; a new one acts a step late, as in torch"},
      {"shrinkage", at_least(0), 1e-4, "lambda: shrinks p, and the step size with the steps"},
      {"exponent", at_least(0), 0.75, "alpha: how fast the step size falls"},
      {"averaging_start", at_least(0), 1e6, "t0: steps before the average begins"},
      {"weight_decay", at_least(0), 0, "times p is added to the gradient"},
  };

  static constexpr State kStates[] = {{.name = "ax", .has_signs = true, .is_exact = true}};

  enum : std::uint8_t { eta };
  static constexpr Number kNumbers[] = {{.name = "eta"}};

  static constexpr Description kAbout = {
      .name = "asgd",
      .source = "Polyak and Juditsky 1992, Acceleration of Stochastic Approximation by Averaging; the numbers of torch",
      .formula =
          "eta = learning_rate at first, mu = 1 / max(1, t - averaging_start)\n"
          "p = p * (1 - shrinkage * eta) - eta * g\n"
          "ax = ax + mu * (p - ax), the average of the weights\n"
          "eta = learning_rate / (1 + shrinkage * learning_rate * (t+1))^exponent, of the next step",
      .text =
          "rule my_asgd\n"
          "hyper learning_rate in [0, inf); shrinkage = 1e-4 in [0, inf); exponent = 0.75 in [0, inf)\n"
          "hyper averaging_start = 1e6 in [0, inf); weight_decay = 0 in [0, inf)\n"
          "state ax; eta unsigned  # eta is equal in all elements\n"
          "g = g + weight_decay * p\n"
          "eta = select(t == 1, learning_rate, eta)\n"
          "p = p - (shrinkage * eta * p + eta * g)\n"
          "ax = ax + (p - ax) / max(t - 1 - averaging_start, 1)\n"
          "eta = learning_rate / (1 + shrinkage * learning_rate * t)^exponent",
      .fields = kFields,
      .settings = {},
      .choices = {},
      .states = kStates,
      .requirements = {},
      .numbers = kNumbers};

  static constexpr bool kOneKernel = true;
  static constexpr Decay decay(const std::int32_t* /*choices*/) { return Decay::coupled; }

  static constexpr int kVariants = 1;
  static constexpr int variant(const Setup& /*setup*/) { return 0; }
  static constexpr std::uint32_t states(int /*variant*/) { return 0b1; }

  static double largest_gradient(const Setup& /*setup*/, double largest) { return largest; }

  static constexpr std::size_t kAveraged = 0;
  static double average_share(const std::int32_t* /*choices*/, const double* /*values*/) { return 1; }

  template <class T>
  struct Constants {
    T shrinks, step_size;
    T keep, take;  ///< of ax and p
    T next_step_size;
  };

  static GRADSTEP_FORMULA Constants<double> constants(const std::int32_t* /*choices*/, const double* v,
                                                      const Clock& clock) {
    const auto t = static_cast<double>(clock.t);
    const double step_size = clock.is_first ? v[learning_rate] : clock.numbers[eta];
    const double behind = t - v[averaging_start];
    const double mu = behind > 1 ? 1 / behind : 1;
    const double slowing = 1 + v[shrinkage] * v[learning_rate] * (t + 1);
    return {v[shrinkage] * step_size, step_size, 1 - mu, mu,
            v[learning_rate] / kernels::exponential(v[exponent] * kernels::logarithm(slowing))};
  }

  static GRADSTEP_FORMULA void advance(const std::int32_t* /*choices*/, const double* /*settings*/,
                                       const double* /*sums*/, double* numbers, Constants<double>& c) {
    numbers[eta] = c.next_step_size;
  }

  /// Returns the change of p.
  template <class T, int kVariant, class V>
  static GRADSTEP_FORMULA V delta(const Constants<T>& c, V p, V g, V* state, T /*largest*/) {
    const V change = -(c.shrinks * p + c.step_size * g);
    state[0] = c.keep * state[0] + c.take * (p + change);
    return change;
  }
};

}  // namespace gradstep::rules
