// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "kernels/elementary.h"
#include "kernels/macros.h"
#include "rules/clock.h"
#include "rules/description.h"
#include "rules/factoring.h"

namespace gradstep::rules {

struct Adafactor {
  enum : std::uint8_t { learning_rate, momentum, weight_decay };
  static constexpr Field kFields[] = {
      {"learning_rate", at_least(0), kRequired, "step size, beside the length of p"},
      {"momentum", kFraction, 0, "share of the mean change that a step keeps"},
      {"weight_decay", at_least(0), 0, "learning_rate * weight_decay * p is subtracted from p"},
  };

  enum : std::uint8_t { decay_exponent, epsilon, least_scale, clip_threshold, min_factored };
  static constexpr Field kSettings[] = {
      {"decay_exponent", at_least(0), 0.8, "a step takes (t+1)^-decay_exponent of the mean squares anew"},
      {"epsilon", {.minimum = 1e-300}, 1e-30, "form torch: least denominator; form optax: joins the squares"},
      {"least_scale", at_least(0), 1e-3, "least root mean square of p that counts"},
      {"clip_threshold", at_least(0), 1, "largest root mean square of a direction; 0 = any"},
      {"min_factored", whole(0, 999999999), 128, "form optax: least length of the shorter factored axis"},
  };

  enum : std::uint8_t { form, scales_by_parameter, factored };
  static constexpr Choice kChoices[] = {
      {"form", kFactoringForms, "torch or optax: which axes are factored, what epsilon does, and what bounds the rate"},
      {"scales_by_parameter", {}, "steps are in proportion to the length of p", 1},
      {"factored", {}, "matrices keep mean squares of rows and columns alone", 1}};

  static constexpr std::span<const State> kStates = {};

  static constexpr const char* kWholeNames[] = {"row_variance", "column_variance", "variance", "momentum"};

  static constexpr Description kAbout = {
      .name = "adafactor",
      .source =
          "Shazeer and Stern 2018, Adafactor: Adaptive Learning Rates with Sublinear Memory Cost, algorithms 4 and 5; "
          "the numbers of torch and of optax",
      .formula =
          "b = 1 - (t+1)^-decay_exponent; rms: the root mean square of a tensor\n"
          "r = b * r + (1 - b) * mean(g^2) over each row, c likewise over each column, v = r * c / mean(r)\n"
          "tensors without factors: v = b * v + (1 - b) * g^2\n"
          "u = g / sqrt(v), u = u / max(1, rms(u) / clip_threshold)\n"
          "rate = learning_rate for form optax, min(learning_rate, 1 / sqrt(t+1)) for torch\n"
          "d = rate * max(rms(p), least_scale) * u; with momentum m = momentum * m + (1 - momentum) * d, d = m\n"
          "p = p - d",
      .no_text = "it keeps numbers of rows and columns",
      .fields = kFields,
      .settings = kSettings,
      .choices = kChoices,
      .states = kStates,
      .requirements = {},
      .whole_states =
          "row_variance and column_variance of factored tensors, a number for each row and column; variance, one for "
          "each element, of others; momentum, one for each element, unless it is the constant 0",
      .whole_names = kWholeNames};

  static constexpr bool kOneKernel = true;
  static constexpr Decay decay(const std::int32_t* /*choices*/) { return Decay::decoupled; }

  static constexpr int kVariants = 1;
  static constexpr int variant(const Setup& /*setup*/) { return 0; }
  static constexpr std::uint32_t states(int /*variant*/) { return 0; }

  /// Sums of squares over a row stay below its type's largest number.
  static double largest_gradient(const Setup& /*setup*/, double largest) { return kernels::square_root(largest) / 2; }

  template <class T>
  struct Constants {
    T keep, rate, momentum;
  };

  static GRADSTEP_FORMULA Constants<double> constants(const std::int32_t* choices, const double* v,
                                                      const Clock& clock) {
    const double count = static_cast<double>(clock.t) + 1;
    const double taken = kernels::exponential(-clock.settings[decay_exponent] * kernels::logarithm(count));
    double rate = v[learning_rate];
    const double most = 1 / kernels::square_root(count);
    if (choices[form] == static_cast<std::int32_t>(FactoringForm::torch) && most < rate) rate = most;
    return {1 - taken, rate, v[momentum]};
  }

  /// Returns g: the tensor is looked at as a whole.
  template <class T, int kVariant, class V>
  static GRADSTEP_FORMULA V delta(const Constants<T>& /*c*/, V /*p*/, V g, V* /*state*/, T /*largest*/) {
    return g;
  }

  static Factoring factoring(const std::int32_t* choices, const double* settings) {
    return {static_cast<FactoringForm>(choices[form]), choices[scales_by_parameter], settings[epsilon],
            settings[least_scale], settings[clip_threshold]};
  }

  /// The axes of a tensor of this shape.
  static FactoredAxes axes(const std::int32_t* choices, const double* settings, std::span<const std::int64_t> shape) {
    FactoredAxes found;
    const auto product = [&](std::size_t begin, std::size_t end) {
      return std::accumulate(shape.begin() + static_cast<std::ptrdiff_t>(begin),
                             shape.begin() + static_cast<std::ptrdiff_t>(end), std::int64_t{1}, std::multiplies<>());
    };
    found.inner = product(0, shape.size());
    if (choices[factored] == 0 || shape.size() < 2) return found;
    std::size_t row = shape.size() - 2;
    std::size_t column = shape.size() - 1;
    if (choices[form] == static_cast<std::int32_t>(FactoringForm::optax)) {
      // As numpy.argsort orders them: of equal ones the last counts as the longest.
      std::vector<std::size_t> order(shape.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::ranges::stable_sort(order, {}, [&](std::size_t axis) { return shape[axis]; });
      row = order[order.size() - 2];
      column = order.back();
      if (static_cast<double>(shape[row]) < settings[min_factored]) return found;
    }
    const std::size_t first = std::min(row, column);
    const std::size_t second = std::max(row, column);
    return {product(0, first),
            shape[first],
            product(first + 1, second),
            shape[second],
            product(second + 1, shape.size()),
            true};
  }
};

}  // namespace gradstep::rules
