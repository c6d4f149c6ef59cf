// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/linear_algebra/block_copies.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace gradstep::cpu {
namespace {

using Shape = std::vector<std::int64_t>;

/// The blocks of a tensor that is cut at multiples of `edge`.
std::vector<BlockPlan> cut(const Shape& shape, std::int64_t edge) {
  std::vector<BlockPlan> blocks(1);
  std::int64_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    std::vector<BlockPlan> cut_here;
    for (std::int64_t begin = 0; begin < shape[axis]; begin += edge) {
      for (BlockPlan block : blocks) {
        block.first += begin * stride;
        block.extents.insert(block.extents.begin(), std::min(edge, shape[axis] - begin));
        block.strides.insert(block.strides.begin(), stride);
        cut_here.push_back(std::move(block));
      }
    }
    blocks = std::move(cut_here);
    stride *= shape[axis];
  }
  for (BlockPlan& block : blocks) {
    block.size = 1;
    for (const std::int64_t extent : block.extents) block.size *= extent;
  }
  return blocks;
}

TEST(BlockCopies, BlocksCoverEveryElementOnce) {
  for (const Shape& shape : {Shape{5}, Shape{7, 5}, Shape{3, 4, 5}, Shape{2, 7, 1, 6}}) {
    std::int64_t size = 1;
    for (const std::int64_t dimension : shape) size *= dimension;
    std::vector<float> tensor(static_cast<std::size_t>(size));
    for (std::size_t i = 0; i < tensor.size(); ++i) tensor[i] = static_cast<float>(i + 1);
    std::vector<float> copy(tensor.size());
    std::int64_t covered = 0;
    for (const BlockPlan& block : cut(shape, 3)) {
      std::vector<float> values(static_cast<std::size_t>(block.size));
      read_block(tensor.data(), block, values.data());
      write_block(values.data(), block, copy.data());
      covered += block.size;
    }
    EXPECT_EQ(covered, size);
    EXPECT_EQ(copy, tensor);
  }
}

TEST(BlockCopies, ABlockIsReadInRowMajorOrder) {
  std::vector<float> tensor(24);
  for (std::size_t i = 0; i < tensor.size(); ++i) tensor[i] = static_cast<float>(i);
  BlockPlan block;
  block.first = 2;  // the right half of the upper rows of (2, 3, 4)
  block.extents = {2, 2, 2};
  block.strides = {12, 4, 1};
  block.size = 8;
  std::vector<float> values(8);
  read_block(tensor.data(), block, values.data());
  EXPECT_EQ(values, (std::vector<float>{2, 3, 6, 7, 14, 15, 18, 19}));
}

}  // namespace
}  // namespace gradstep::cpu
