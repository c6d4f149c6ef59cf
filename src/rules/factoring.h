// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Second moments in factors (Shazeer and Stern 2018, Adafactor): two axes of a tensor keep the mean squares of their
// rows and columns, v(row, column) = rows * columns / mean(rows). Other tensors keep a mean square for each element.
#pragma once

#include <cstdint>

#include "kernels/macros.h"

namespace gradstep::rules {

/// The axes of a tensor in row-major order: [outer][rows][middle][columns][inner]. What is no row or column of a matrix
/// numbers the matrices.
struct FactoredAxes {
  std::int64_t outer = 1;
  std::int64_t rows = 1;
  std::int64_t middle = 1;
  std::int64_t columns = 1;
  std::int64_t inner = 1;
  bool are_factored = false;  ///< false: all elements are `inner`

  bool operator==(const FactoredAxes&) const = default;

  constexpr std::int64_t row_count() const { return outer * rows * middle * inner; }
  constexpr std::int64_t column_count() const { return outer * middle * columns * inner; }
  constexpr std::int64_t matrix_count() const { return outer * middle * inner; }
};

/// Where the sources differ.
enum class FactoringForm : std::int32_t {
  torch,  ///< the last two axes, whatever their size; the rate is at most 1 / sqrt(t+1); epsilon bounds the denominator
  optax,  ///< the two longest axes, if the shorter has min_factored elements; epsilon joins the squares
};
inline constexpr const char* kFactoringForms[] = {"torch", "optax"};

struct Factoring {
  FactoringForm form = FactoringForm::torch;
  std::int32_t scales = 1;  ///< steps are in proportion to the length of the parameter
  double epsilon = 0;
  double least_scale = 1e-3;  ///< least root mean square of the parameter
  double clip_threshold = 1;  ///< largest root mean square of a direction; 0 = off

  bool operator==(const Factoring&) const = default;

  /// What a gradient adds to the mean squares.
  template <class T>
  GRADSTEP_FORMULA double square(T g) const {
    const auto x = static_cast<double>(g);
    return x * x + beside_square();
  }
  GRADSTEP_FORMULA double beside_square() const { return form == FactoringForm::optax ? epsilon : 0; }
  /// Returns what is kept of a mean square that takes `now` in.
  template <class T>
  GRADSTEP_FORMULA static T go_on(T kept, double keep, double now) {
    return static_cast<T>(keep * static_cast<double>(kept) + (1 - keep) * now);
  }
  /// What the gradients of a row are multiplied by, for its part; `mean` is that of the matrix's rows.
  GRADSTEP_FORMULA double of_row(double row, double mean) const {
    if (form == FactoringForm::torch && mean < epsilon) mean = epsilon;
    return 1 / kernels::square_root(row / mean);
  }
  GRADSTEP_FORMULA double of_column(double column) const { return 1 / kernels::square_root(column); }
  GRADSTEP_FORMULA double of_element(double variance) const { return 1 / kernels::square_root(variance); }
  /// Bounds such a factor.
  GRADSTEP_FORMULA double bound() const { return form == FactoringForm::torch ? 1 / epsilon : __builtin_inf(); }

  /// What a direction is multiplied by, from its sum of squares and that of the parameter.
  GRADSTEP_FORMULA double scale(double rate, double direction, double parameter, std::int64_t size) const {
    const auto n = static_cast<double>(size);
    double factor = rate;
    if (scales != 0) {
      const double length = kernels::square_root(parameter / n);
      factor *= length > least_scale ? length : least_scale;
    }
    if (clip_threshold > 0) {
      const double length = kernels::square_root(direction / n) / clip_threshold;
      factor /= length > 1 ? length : 1;
    }
    return factor;
  }
};

/// The numbers of a step.
struct FactoringStep {
  double keep = 0;  ///< of the mean squares; the rest is the gradient's
  double rate = 0;
  double momentum = 0;
};

}  // namespace gradstep::rules
