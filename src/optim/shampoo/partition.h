// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// How a tensor is cut into the blocks that Shampoo preconditions: small neighbouring dimensions are merged, long ones
// are cut.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/held_bytes.h"

namespace gradstep {

struct MergedAxis {
  std::int64_t extent = 1;
  std::int64_t longest = 1;  ///< of the dimensions that were merged into it
};

/// Merges dimensions left to right as long as their product is at most `limit`. Products of 1 vanish; a shape of ones
/// alone is {1}.
std::vector<MergedAxis> merge_small_dimensions(std::span<const std::int64_t> shape, std::int64_t limit);

/// One block: where it begins in every axis of the merged tensor, and its extents.
struct Block {
  std::vector<std::int64_t> begin;
  std::vector<std::int64_t> extents;
  std::int64_t size = 0;

  std::size_t bytes() const { return held_bytes(begin, extents); }
};

/// A block as (outer, n, inner) around one of its axes.
struct AxisView {
  std::int64_t outer = 1;
  std::int64_t n = 1;
  std::int64_t inner = 1;
};
AxisView view_axis(const Block& block, std::size_t axis);

class Partition {
 public:
  Partition() = default;
  /// `shape` is merged if `merge`, and cut at multiples of block_size where it is longer.
  Partition(std::span<const std::int64_t> shape, std::int64_t block_size, bool merge);

  const std::vector<std::int64_t>& shape() const { return shape_; }
  /// The longest dimension of the parameter that is part of an axis.
  std::int64_t longest_dimension(std::size_t axis) const { return longest_[axis]; }
  std::size_t rank() const { return shape_.size(); }
  /// Lexicographic, axis 0 slowest.
  const std::vector<Block>& blocks() const { return blocks_; }
  bool is_whole() const { return blocks_.size() == 1; }
  /// The strides of the merged tensor, which is compact and row-major.
  std::vector<std::int64_t> strides() const;
  std::size_t bytes() const { return held_bytes(shape_, longest_, blocks_); }

 private:
  std::vector<std::int64_t> shape_;
  std::vector<std::int64_t> longest_;
  std::vector<Block> blocks_;
};

}  // namespace gradstep
