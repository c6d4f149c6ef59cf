// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/macros.h"
#include "kernels/stored.h"
#include "rules/clock.h"
#include "rules/description.h"
#include "rules/epsilon.h"

namespace gradstep::rules {

struct AdaGrad {
  enum : std::uint8_t { learning_rate, epsilon, weight_decay, lr_decay };
  static constexpr Field kFields[] = {
      {"learning_rate", at_least(0), kRequired, "step size"},
      {"epsilon", at_least(0), 1e-8, "keeps the denominator from zero"},
      {"weight_decay", at_least(0), 0, "times p is added to the gradient"},
      {"lr_decay", at_least(0), 0, "the step size is divided by 1 + t * lr_decay"},
  };

  enum : std::uint8_t { initial_accumulator };
  static constexpr Field kSettings[] = {{"initial_accumulator", at_least(0), 0, "what the sum starts with"}};

  enum : std::uint8_t { epsilon_placement };
  static constexpr Choice kChoices[] = {kEpsilonPlacementChoice};

  static constexpr State kStates[] = {{.name = "sum", .initial = initial_accumulator}};

  static constexpr Description kAbout = {
      .name = "adagrad",
      .source = "Duchi, Hazan and Singer 2011; SINGA opt.py; lr_decay and initial_accumulator as in PyTorch",
      .formula =
          "a = a + g^2\n"
          "p = p - learning_rate / (1 + t * lr_decay) * g / sqrt(a + epsilon), or by epsilon_placement / "
          "(sqrt(a) + epsilon)",
      .text =
          "rule my_adagrad\n"
          "hyper learning_rate in [0, inf); epsilon = 1e-8 in [0, inf); lr_decay = 0 in [0, inf)\n"
          "hyper initial_accumulator = 0 in [0, inf)\n"
          "state a unsigned\n"
          "a = select(t == 1, initial_accumulator, a) + g^2\n"
          "p = p - learning_rate / (1 + (t - 1) * lr_decay) * g / sqrt(a + epsilon)",
      .fields = kFields,
      .settings = kSettings,
      .choices = kChoices,
      .states = kStates,
      .requirements = {}};

  static constexpr Decay decay(const std::int32_t* /*choices*/) { return Decay::coupled; }

  static constexpr int kVariants = 1;
  static constexpr int variant(const Setup& /*setup*/) { return 0; }
  static constexpr std::uint32_t states(int /*variant*/) { return 1; }

  static double largest_gradient(const Setup& /*setup*/, double largest) { return kernels::square_root(largest); }

  template <class T>
  struct Constants {
    T learning_rate;  ///< of this step
    Epsilon<T> epsilon;
  };

  static GRADSTEP_FORMULA Constants<double> constants(const std::int32_t* choices, const double* v,
                                                      const Clock& clock) {
    return {v[learning_rate] / (1 + static_cast<double>(clock.t) * v[lr_decay]),
            place_epsilon(choices[epsilon_placement], v[epsilon])};
  }

  /// Returns the change of p.
  template <class T, int kVariant, class V>
  static GRADSTEP_FORMULA V delta(const Constants<T>& c, V /*p*/, V g, V* state, T largest) {
    const V sum = kernels::storable(state[0] + g * g, largest);
    state[0] = sum;
    return -(c.learning_rate * g / c.epsilon.root(sum));
  }
};

}  // namespace gradstep::rules
