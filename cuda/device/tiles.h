// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrices by tiles of 32 x 32 that the threads of a block share, so that what is read by rows can be written by
// columns and both go through memory by whole lines.
#pragma once

#include <cstdint>

#include "device/block.h"
#include "kernels/macros.h"

namespace gradstep::cuda {

inline constexpr int kTile = 32;
inline constexpr int kTileThreads = 256;  ///< of a block that has a tile

/// Rows are one number longer than the tile's: the numbers of a column are in different banks.
template <class T>
using Tile = T[kTile][kTile + 1];

GRADSTEP_FORMULA std::int64_t tiles_of(std::int64_t rows) { return (rows + kTile - 1) / kTile; }

/// Where a block's tile begins.
struct TilePlace {
  std::int64_t matrix;
  std::int64_t top;
  std::int64_t left;

  /// The tiles of matrices of `rows` and `columns`. There are as many blocks as the matrices have tiles together.
  GRADSTEP_DEVICE TilePlace(const Block& block, std::int64_t rows, std::int64_t columns) {
    const std::int64_t across = tiles_of(columns);
    const std::int64_t tiles = across * tiles_of(rows);
    matrix = block.index() / tiles;
    top = block.index() % tiles / across * kTile;
    left = block.index() % tiles % across * kTile;
  }

  GRADSTEP_DEVICE bool is_above_diagonal() const { return left > top; }
};

/// body(r, c) for the thread's own places of a tile. The lanes of a warp have one r.
template <class Body>
GRADSTEP_DEVICE void for_each_of_tile(const Block& block, Body body) {
  const int c = block.thread() % kTile;
  for (int r = block.thread() / kTile; r < kTile; r += kTileThreads / kTile) body(r, c);
}

/// What makes a symmetric matrix of its lower half: value(row, column) for the tile's places there, and
/// store(row, column, value) for each of them and, but for the diagonal, its mirror image. By all threads; a barrier.
template <class T, class Value, class Store>
GRADSTEP_DEVICE void mirror_tile(Block& block, const TilePlace& place, std::int64_t n, Tile<T>& shared, Value value,
                                 Store store) {
  for_each_of_tile(block, [&](int r, int c) {
    const std::int64_t row = place.top + r;
    const std::int64_t column = place.left + c;
    if (row >= n || column > row) return;
    const T x = value(row, column);
    store(row, column, x);
    shared[r][c] = x;
  });
  block.sync();
  for_each_of_tile(block, [&](int r, int c) {
    const std::int64_t row = place.left + r;
    const std::int64_t column = place.top + c;
    if (column < n && row < column) store(row, column, shared[c][r]);
  });
}

}  // namespace gradstep::cuda
