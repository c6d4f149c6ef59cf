// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What the kernels of roots share: who has what of a batch's matrices.
#pragma once

#include "device/block.h"
#include "kernels/roots.h"
#include "runtime/launch.h"

namespace gradstep::cuda {

inline constexpr int kMatrixThreads = 256;

struct Partials {
  double of_warps[kMatrixThreads / kWarp];
};

GRADSTEP_DEVICE RootState& state_of(const Block& block, const RootBatch& batch, std::int64_t matrix) {
  return *block.checked(batch.states + matrix);
}

/// In all threads: the sum of what they have, or the largest of its magnitudes, or a NaN.
template <bool kSums>
GRADSTEP_DEVICE double combine(Block& block, double value, Partials& shared) {
  const auto take = [&](double other) {
    if (kSums) {
      value += other;
    } else {
      kernels::take_magnitude(other, value);
    }
  };
  for (int mask = kWarp / 2; mask > 0; mask /= 2) take(block.shuffle_xor(value, mask));
  block.sync();
  if (block.thread() % kWarp == 0) shared.of_warps[block.thread() / kWarp] = value;
  block.sync();
  value = shared.of_warps[0];
  for (int w = 1; w < kMatrixThreads / kWarp; ++w) take(shared.of_warps[w]);
  return value;
}

/// Rows of a matrix.
struct RowRange {
  std::int64_t begin;
  std::int64_t end;
};

/// The matrices of a batch in parts of some rows, a block each: one block for each matrix would leave a device idle
/// where matrices are large and therefore few.
struct MatrixParts {
  static constexpr std::int64_t kElements = 16384;

  std::int64_t matrices;
  std::int64_t n;
  std::int64_t rows;   ///< of a part
  std::int64_t count;  ///< of a matrix

  explicit MatrixParts(const RootBatch& batch)
      : matrices(batch.count), n(batch.n), rows(parts_of(kElements, n)), count(parts_of(n, rows)) {}

  std::int64_t blocks() const { return matrices * count; }
  GRADSTEP_DEVICE std::int64_t matrix(const Block& block) const { return block.index() / count; }
  GRADSTEP_DEVICE RowRange range(const Block& block) const {
    const std::int64_t begin = block.index() % count * rows;
    return {begin, begin + rows < n ? begin + rows : n};
  }
};

/// body(i, row, column) for the thread's own of the places in rows of n numbers. Divisions of 64 bits for each would
/// take longer than what is done there.
template <class Body>
GRADSTEP_DEVICE void for_each_place(const Block& block, const RowRange& rows, std::int64_t n, Body body) {
  std::int64_t row = rows.begin + block.thread() / n;
  std::int64_t column = block.thread() % n;
  for (std::int64_t i = rows.begin * n + block.thread(); i < rows.end * n; i += kMatrixThreads) {
    body(i, row, column);
    for (column += kMatrixThreads; column >= n; column -= n) ++row;
  }
}

/// max |a - I| there; NaN if there is one. By all threads, in each of them.
template <class T>
GRADSTEP_DEVICE double distance_from_identity(Block& block, const T* a, const RowRange& rows, std::int64_t n,
                                              Partials& shared) {
  double worst = 0;
  for_each_place(block, rows, n, [&](std::int64_t i, std::int64_t row, std::int64_t column) {
    kernels::take_magnitude(static_cast<double>(block.load(a + i)) - (row == column ? 1 : 0), worst);
  });
  return combine<false>(block, worst, shared);
}

/// body(block, matrix, rows) for each part of some rows. A block has a part.
template <class Body>
struct ForEachOfParts {
  static constexpr const char* kName = Body::kName;
  static constexpr int kThreads = kMatrixThreads;

  MatrixParts parts;
  Body body;

  GRADSTEP_DEVICE void operator()(Block& block) const { body(block, parts.matrix(block), parts.range(block)); }
};

template <class Body>
void launch_parts(const CudaQueue& queue, const RootBatch& batch, const Body& body) {
  const MatrixParts parts(batch);
  launch(queue, parts.blocks(), ForEachOfParts<Body>{parts, body});
}

/// body(block, matrix, its state). A thread has a matrix.
template <class Body>
struct ForEachOfMatrices {
  static constexpr const char* kName = Body::kName;
  static constexpr int kThreads = 64;

  RootBatch batch;
  Body body;

  GRADSTEP_DEVICE void operator()(const Block& block) const {
    const std::int64_t matrix = element_of(block);
    if (matrix < batch.count) body(block, matrix, state_of(block, batch, matrix));
  }
};

template <class Body>
void launch_matrices(const CudaQueue& queue, const RootBatch& batch, const Body& body) {
  launch_each(queue, batch.count, ForEachOfMatrices<Body>{batch, body});
}

struct Row {
  std::int64_t matrix;  ///< whose it is
  std::int64_t index;   ///< its place there
  std::int64_t first;   ///< the place of its first number in the list of matrices
};

/// body(block, row, j) for the n numbers of each row. A block has a row.
template <class Body>
struct ForEachOfRows {
  static constexpr const char* kName = Body::kName;
  static constexpr int kThreads = 128;

  std::int64_t rows;  ///< of a matrix
  std::int64_t n;
  Body body;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const Row row{block.index() / rows, block.index() % rows, block.index() * n};
    for (std::int64_t j = block.thread(); j < n; j += kThreads) body(block, row, j);
  }
};

template <class Body>
void launch_rows(const CudaQueue& queue, const RootBatch& batch, const Body& body) {
  launch(queue, batch.count * batch.n, ForEachOfRows<Body>{batch.n, batch.n, body});
}

/// A matrix's probes are rows.
template <class Body>
void launch_probes(const CudaQueue& queue, const RootBatch& batch, const Body& body) {
  launch(queue, batch.count * kernels::kProbes, ForEachOfRows<Body>{kernels::kProbes, batch.n, body});
}

}  // namespace gradstep::cuda
