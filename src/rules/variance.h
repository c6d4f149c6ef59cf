// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The variance that orthogonalized matrices are divided by: NorMuon (Li et al. 2025) keeps one for each row, AdaMuon
// (Si et al. 2025) one for each element.
//   v = beta v + (1 - beta) mean(o^2) over the row, the column, or the element alone
//   o = o / root(v), then scaled as a whole
#pragma once

#include <cstdint>

#include "kernels/macros.h"

namespace gradstep::rules {

/// What has a variance of its own.
enum class VarianceOf : std::int32_t {
  none,      ///< nothing is divided
  rows,      ///< dion, pytorch_optimizer
  longer,    ///< rows or columns, whichever there are more of; rows where there are as many: NVIDIA
  elements,  ///< AdaMuon
};
inline constexpr const char* kVariances[] = {"none", "rows", "longer", "elements"};

/// What the root of the variance becomes before it divides.
enum class VarianceFloor : std::int32_t {
  add,  ///< sqrt(v) + epsilon
  max,  ///< sqrt(max(v, epsilon))
};
inline constexpr const char* kVarianceFloors[] = {"add", "max"};

/// How long the matrix is afterwards.
enum class VarianceLength : std::int32_t {
  kept,  ///< as before: NorMuon
  free,  ///< as it comes: NVIDIA's AdaMuon
  full,  ///< sqrt(min(rows, columns)), with v corrected for its bias: pytorch_optimizer's AdaMuon
};
inline constexpr const char* kVarianceLengths[] = {"kept", "free", "full"};

struct Variance {
  VarianceOf of = VarianceOf::none;
  VarianceFloor floor = VarianceFloor::add;
  VarianceLength length = VarianceLength::kept;
  std::int32_t unused = 0;
  double epsilon = 0;

  bool operator==(const Variance&) const = default;

  /// Whether each row has one, rather than each column.
  GRADSTEP_FORMULA bool is_of_rows(std::int64_t rows, std::int64_t columns) const {
    return of == VarianceOf::rows || rows >= columns;
  }
  /// How many there are for a matrix.
  GRADSTEP_FORMULA std::int64_t count(std::int64_t rows, std::int64_t columns) const {
    if (of == VarianceOf::none) return 0;
    if (of == VarianceOf::elements) return rows * columns;
    return is_of_rows(rows, columns) ? rows : columns;
  }

  /// What numbers with this variance are multiplied by. `correct` undoes its bias, where that is asked for.
  GRADSTEP_FORMULA double factor(double variance, double correct) const {
    if (length == VarianceLength::full) variance *= correct;
    if (floor == VarianceFloor::max) return 1 / kernels::square_root(variance > epsilon ? variance : epsilon);
    const double root = kernels::square_root(variance) + epsilon;
    return root > 0 ? 1 / root : 0;
  }
  /// What the whole is multiplied by, from its sums of squares before and after the division.
  GRADSTEP_FORMULA double scale(double before, double after, std::int64_t rows, std::int64_t columns) const {
    if (length == VarianceLength::free) return 1;
    const double norm = kernels::square_root(after);
    if (length == VarianceLength::full) {
      return kernels::square_root(static_cast<double>(rows < columns ? rows : columns)) / (norm + epsilon);
    }
    return norm > 0 ? kernels::square_root(before) / norm : 0;
  }
};

/// How a variance goes on in a step.
struct VarianceStep {
  double beta = 0;
  double correct = 1;  ///< 1 / (1 - beta^(t+1))

  GRADSTEP_FORMULA double next(double variance, double mean_square) const {
    return beta * variance + (1 - beta) * mean_square;
  }
};

}  // namespace gradstep::rules
