// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrices of state as f32 numbers, whatever they are kept as: many in one launch.
#pragma once

#include <vector>

#include "backend/preconditioning.h"
#include "runtime/table.h"

namespace gradstep::cuda {

/// A stored matrix and its numbers elsewhere, row-major.
struct MatrixCopy {
  void* codes;  ///< f32 where it has no coding
  float* buckets;
  float* diagonal;
  float* numbers;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t coding;
};

/// Columns of a matrix, `width` at most, for one block of threads.
struct ColumnTile {
  std::int64_t item;
  std::int64_t first;
  std::int64_t width;  ///< a power of two up to 32
};

class MatrixCopies {
 public:
  /// A new list.
  void begin();
  void add(const StoredMatrix& matrix, float* numbers);
  bool empty() const { return items_.empty(); }
  std::size_t size() const { return items_.size(); }

  /// Numbers from the matrices.
  void read(CudaQueue& queue);
  /// Matrices from the numbers.
  void write(CudaQueue& queue);

 private:
  void send(CudaQueue& queue);

  std::vector<MatrixCopy> items_;
  std::vector<ColumnTile> tiles_;
  WorkList work_;
  Table table_;
  const MatrixCopy* device_items_ = nullptr;
  const ColumnTile* device_tiles_ = nullptr;
  Chunks device_chunks_;
};

void write_identity(const StoredMatrix& to, float value, CudaQueue& queue);

}  // namespace gradstep::cuda
