// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrices of state as numbers of their arithmetic, whatever they are kept as: many in one launch. Codes are of f32.
#pragma once

#include <vector>

#include "backend/preconditioning.h"
#include "runtime/table.h"

namespace gradstep::cuda {

/// A stored matrix and its numbers elsewhere, row-major.
struct MatrixCopy {
  void* codes;  ///< numbers where it has no coding
  float* buckets;
  float* diagonal;
  void* numbers;
  std::uint32_t* largest;  ///< of its columns, while it is written; NULL where it has no coding
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t coding;
  std::int64_t is_wide;  ///< numbers are f64
};

/// Rows of some columns of a matrix, for one block of threads.
struct ColumnTile {
  std::int64_t item;
  std::int64_t first_row;
  std::int64_t first_column;
  std::int64_t width;  ///< a power of two up to 32
};

class MatrixCopies {
 public:
  /// A new list.
  void begin();
  /// `numbers` are of the matrix' arithmetic.
  void add(const StoredMatrix& matrix, void* numbers);
  bool empty() const { return items_.empty(); }
  std::size_t size() const { return items_.size(); }
  std::size_t bytes() const { return held_bytes(items_, tiles_, work_, table_, largest_); }

  /// Numbers from the matrices.
  void read(CudaQueue& queue);
  /// Matrices from the numbers.
  void write(CudaQueue& queue);
  /// Each becomes `value` times the identity; there need be no numbers.
  void write_identity(double value, CudaQueue& queue);

 private:
  struct OnDevice {
    const MatrixCopy* items = nullptr;
    const ColumnTile* tiles = nullptr;
    Chunks chunks;
    std::uint32_t* largest = nullptr;
  };
  OnDevice send(CudaQueue& queue);
  template <class Source>
  void write_from(const Source& source, CudaQueue& queue);

  std::vector<MatrixCopy> items_;
  std::vector<ColumnTile> tiles_;
  WorkList work_;
  std::int64_t measured_columns_ = 0;
  Table table_;
  ScratchBuffer largest_;
};

}  // namespace gradstep::cuda
