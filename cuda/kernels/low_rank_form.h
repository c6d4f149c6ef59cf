// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrices of a plan and their factors, as kernels see them, and which block of a kernel has which part of which.
#pragma once

#include <vector>

#include "backend/exchange.h"
#include "backend/work_list.h"
#include "device/block.h"
#include "kernels/low_rank.h"
#include "runtime/table.h"

namespace gradstep::cuda {

/// A matrix as kernels see it.
struct DeviceLowRank {
  void* m;
  void* p;
  void* q;
  void* result;
  const void* q_before;
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t rank;
  double* partials;  ///< what sums of bands need
  std::int64_t column_bands;
  std::int64_t row_bands;
  std::int64_t vector_bands;
  std::int64_t is_in_fours;  ///< four numbers of m, q and the result may be accessed as one
};

/// Where a block begins.
struct LowRankTile {
  std::int64_t item;
  std::int64_t row;
  std::int64_t column;
  std::int64_t factor;
};

/// What a kernel has of a plan: a tile for each block.
struct LowRankParts {
  const LowRankTile* tiles;
  const DeviceLowRank* matrices;

  GRADSTEP_DEVICE LowRankTile tile(const Block& block) const { return *block.checked(tiles + block.index()); }
  GRADSTEP_DEVICE const DeviceLowRank& matrix(const Block& block, const LowRankTile& tile) const {
    return *block.checked(matrices + tile.item);
  }
};

/// What vectors' products are in bands is in so many places, by turns: a launch reads what those before it have left.
inline constexpr std::int64_t kPlaces = 4;

GRADSTEP_DEVICE std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

struct LowRankShape {
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t rank;
  bool operator==(const LowRankShape&) const = default;
};

/// Blocks of each kernel, which depend on shapes alone.
struct LowRankTiles {
  std::vector<LowRankShape> shapes;
  std::vector<LowRankTile> rows;
  std::vector<LowRankTile> columns;
  std::vector<LowRankTile> sums_of_rows;
  std::vector<LowRankTile> sums_of_columns;
  std::vector<LowRankTile> vectors;
  std::vector<LowRankTile> factors;
  WorkList work;
  std::int64_t rank = 0;  ///< the highest

  std::size_t bytes() const {
    return held_bytes(shapes, rows, columns, sums_of_rows, sums_of_columns, vectors, factors, work);
  }
  /// By the shapes.
  void cut();
};

/// What the device has of a plan.
struct LowRankForm {
  LowRankTiles tiles;
  std::vector<LowRankShape> shapes;
  std::vector<DeviceLowRank> matrices;
  ScratchBuffer partials;
  Table table;
  LowRankParts rows{};
  LowRankParts columns{};
  LowRankParts sums_of_rows{};
  LowRankParts sums_of_columns{};
  LowRankParts vectors{};
  LowRankParts factors{};
  const Chunk* chunks = nullptr;
  bool is_double = false;

  std::size_t bytes() const { return held_bytes(tiles, shapes, matrices, partials, table); }
};

/// Makes the form of the plan as it is now, and sends it to the device.
LowRankForm& prepare(const LowRankPlan& plan, CudaQueue& queue);

template <class List>
std::int64_t count_of(const List& list) {
  return static_cast<std::int64_t>(list.size());
}

}  // namespace gradstep::cuda
