// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "kernels/elementary.h"
#include "kernels/macros.h"
#include "rules/clock.h"
#include "rules/description.h"
#include "rules/projection.h"

namespace gradstep::rules {

struct Dion {
  enum : std::uint8_t { learning_rate, momentum, weight_decay };
  static constexpr Field kFields[] = {
      {"learning_rate", at_least(0), kRequired, "step size"},
      {"momentum", kFraction, 0.95, "share of P R^T that stays in m"},
      {"weight_decay", at_least(0), 0, "learning_rate * weight_decay * p is subtracted from p"},
  };

  enum : std::uint8_t { rank, rank_fraction, epsilon };
  static constexpr Field kSettings[] = {
      {"rank", whole(0, 999999999), 0, "columns of Q, at most the shorter side of the matrix; 0: by rank_fraction"},
      {"rank_fraction", at_least(0), 1, "columns of Q in shares of the shorter side, rounded up"},
      {"epsilon", at_least(0), 1e-8, "added to the lengths that columns of R are divided by"},
  };

  enum : std::uint8_t { form };
  static constexpr Choice kChoices[] = {
      {"form", kProjectionForms,
       "reference: wide matrices are transposed; where a column of R is zero, that of Q stays (dion_reference); "
       "simple: never transposed; where a column of R is zero, that of Q becomes zero; a zero column of P becomes one "
       "of the identity (dion_simple)"},
  };

  static constexpr std::span<const State> kStates = {};

  static constexpr const char* kWholeNames[] = {"momentum", "Q"};

  static constexpr Description kAbout = {
      .name = "dion",
      .source =
          "Ahn et al. 2025, Dion: Distributed Orthonormalized Updates (arXiv 2504.05295), algorithm 1; the numbers of "
          "dion_reference and of dion_simple of microsoft/dion",
      .formula =
          "m = m + g, rows by the first axis, columns by all others\n"
          "P = the orthonormal basis of m Q, R = m^T P\n"
          "m = m - (1 - momentum) * P R^T\n"
          "Q = R / (lengths of its columns + epsilon)\n"
          "p = p - learning_rate * sqrt(rows / columns) * P Q^T; every parameter needs 2 axes or more",
      .no_text = "its changes are products of matrices",
      .fields = kFields,
      .settings = kSettings,
      .choices = kChoices,
      .states = kStates,
      .requirements = {},
      .whole_states =
          "momentum, in the parameter's shape; Q, a row of `columns` numbers for each of its columns (of `rows` "
          "numbers where the matrix is transposed), which begins with random numbers by the parameter's name",
      .whole_names = kWholeNames};

  static constexpr bool kOneKernel = true;
  static constexpr Decay decay(const std::int32_t* /*choices*/) { return Decay::decoupled; }

  static constexpr int kVariants = 1;
  static constexpr int variant(const Setup& /*setup*/) { return 0; }
  static constexpr std::uint32_t states(int /*variant*/) { return 0; }

  /// Squares of columns of a sum that takes in g in every step stay below the largest number.
  static double largest_gradient(const Setup& setup, double largest) {
    return kernels::square_root(largest) * (1 - setup.constant(momentum, 0)) / 2;
  }

  template <class T>
  struct Constants {
    T drop;  ///< 1 - momentum
  };

  static GRADSTEP_FORMULA Constants<double> constants(const std::int32_t* /*choices*/, const double* v,
                                                      const Clock& /*clock*/) {
    return {1 - v[momentum]};
  }

  /// Returns g: the matrix is looked at as a whole.
  template <class T, int kVariant, class V>
  static GRADSTEP_FORMULA V delta(const Constants<T>& /*c*/, V /*p*/, V g, V* /*state*/, T /*largest*/) {
    return g;
  }

  static Projection projection(const std::int32_t* choices, const double* settings) {
    return {static_cast<ProjectionForm>(choices[form]), 0, settings[epsilon]};
  }
  /// Columns of Q of a matrix that has elements.
  static std::int64_t rank_of(const double* settings, std::int64_t rows, std::int64_t columns) {
    const auto most = static_cast<double>(std::min(rows, columns));
    const double wanted = settings[rank] > 0 ? settings[rank] : std::ceil(settings[rank_fraction] * most);
    return static_cast<std::int64_t>(std::clamp(wanted, 1.0, most));
  }
  /// What a step along P Q^T is multiplied by, beside the learning rate.
  static double step_scale(const std::int32_t* /*choices*/, const double* /*settings*/, double rows, double columns) {
    return std::sqrt(rows / columns);
  }
};

}  // namespace gradstep::rules
