// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/macros.h"
#include "rules/clock.h"
#include "rules/description.h"

namespace gradstep::rules {

struct Sgd {
  enum : std::uint8_t { learning_rate, momentum, dampening, weight_decay };
  static constexpr Field kFields[] = {
      {"learning_rate", at_least(0), kRequired, "step size"},
      {"momentum", at_least(0), 0, "share of the buffer that a step keeps"},
      {"dampening", {}, 0, "1 - dampening of a gradient goes into the buffer; ignored without momentum"},
      {"weight_decay", at_least(0), 0, "times p is added to the gradient"},
  };

  enum : std::uint8_t { nesterov, first_step };
  static constexpr const char* kFirstStep[] = {"dampen", "copy"};
  static constexpr Choice kChoices[] = {
      {"nesterov", {}, "steps by g + momentum * b; needs momentum above 0 and dampening 0"},
      {"first_step", kFirstStep, "dampen: the buffer starts at 0 (SINGA); copy: with the first gradient (PyTorch)"},
  };
  static constexpr Requirement kRequirements[] = {{nesterov, momentum, true}, {nesterov, dampening, false}};

  static constexpr State kStates[] = {{.name = "momentum_buffer", .has_signs = true}};

  static constexpr Description kAbout = {
      .name = "sgd",
      .source = "SINGA opt.py; Nesterov's form as in PyTorch",
      .formula =
          "with momentum: b = momentum * b + (1 - dampening) * g; d = g + momentum * b if nesterov else b\n"
          "p = p - learning_rate * d, or p - learning_rate * g without momentum",
      .text =
          "rule my_sgd\n"
          "hyper learning_rate in [0, inf); momentum = 0 in [0, inf); dampening = 0\n"
          "state b\n"
          "b = momentum * b + (1 - dampening) * g\n"
          "p = p - learning_rate * select(momentum > 0, b, g)",
      .fields = kFields,
      .settings = {},
      .choices = kChoices,
      .states = kStates,
      .requirements = kRequirements};

  static constexpr Decay decay(const std::int32_t* /*choices*/) { return Decay::coupled; }

  // 0: without momentum, 1: with it, 2: Nesterov's.
  static constexpr int kVariants = 3;
  static constexpr int variant(const Setup& setup) {
    if (!setup.has(momentum)) return 0;
    return setup.choices[nesterov] != 0 ? 2 : 1;
  }
  static constexpr std::uint32_t states(int variant) { return variant == 0 ? 0 : 1; }

  /// A buffer that takes in g in every step ends at g / (1 - momentum).
  static double largest_gradient(const Setup& setup, double largest) {
    const double kept = setup.constant(momentum, 0);
    return kept < 1 ? largest * (1 - kept) : largest;
  }

  template <class T>
  struct Constants {
    T learning_rate, momentum, gradient_factor;
  };

  static GRADSTEP_FORMULA Constants<double> constants(const std::int32_t* choices, const double* v,
                                                      const Clock& clock) {
    const bool copies = clock.is_first && choices[first_step] == 1;
    return {v[learning_rate], v[momentum], copies ? 1 : 1 - v[dampening]};
  }

  /// Returns the change of p.
  template <class T, int kVariant, class V>
  static GRADSTEP_FORMULA V delta(const Constants<T>& c, V /*p*/, V g, V* state, T /*largest*/) {
    if constexpr (kVariant == 0) {
      return -(c.learning_rate * g);
    } else {
      const V b = c.momentum * state[0] + c.gradient_factor * g;
      state[0] = b;
      return -(c.learning_rate * (kVariant == 2 ? g + c.momentum * b : b));
    }
  }
};

}  // namespace gradstep::rules
