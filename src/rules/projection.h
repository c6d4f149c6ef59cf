// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A momentum whose part of low rank is the change (Ahn et al. 2025, Dion: Distributed Orthonormalized Updates,
// algorithm 1), of a matrix M that has taken the gradient in:
//   P = orthonormal(M Q), R = M^T P
//   M = M - (1 - mu) P R^T
//   Q = R / (lengths of its columns + epsilon); the change is along P Q^T
#pragma once

#include <cstdint>

#include "kernels/macros.h"

namespace gradstep::rules {

/// Where the sources differ.
enum class ProjectionForm : std::int32_t {
  reference,  ///< a matrix of more columns than rows is transposed; where a column of R is zero, that of Q stays
  simple,     ///< a zero column of P becomes one of the identity; where a column of R is zero, so is that of Q
};
inline constexpr const char* kProjectionForms[] = {"reference", "simple"};

struct Projection {
  ProjectionForm form = ProjectionForm::reference;
  std::int32_t unused = 0;
  double epsilon = 0;

  bool operator==(const Projection&) const = default;

  /// Whether Q belongs to the rows, and P to the columns.
  GRADSTEP_FORMULA bool is_transposed(std::int64_t rows, std::int64_t columns) const {
    return form == ProjectionForm::reference && rows < columns;
  }
  /// Whether a column of P that is zero becomes one of the identity, as the QR of LAPACK has it.
  GRADSTEP_FORMULA bool fills_basis() const { return form == ProjectionForm::simple; }
  /// What a column of R is multiplied by to be one of Q, from its sum of squares.
  GRADSTEP_FORMULA double scale(double squares) const {
    const double length = kernels::square_root(squares) + epsilon;
    return length > 0 ? 1 / length : 0;
  }
  /// Whether a column of Q stays as it is.
  GRADSTEP_FORMULA bool keeps(double squares) const { return form == ProjectionForm::reference && squares == 0; }
};

}  // namespace gradstep::rules
