// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Blocks in and out of their tensors, by runs of neighbouring elements, and those that need no copy.
#pragma once

#include <cstdint>
#include <cstring>

#include "backend/preconditioning.h"
#include "core/array.h"
#include "cpu/linear_algebra/products.h"

namespace gradstep::cpu {

/// Calls run(offset in the tensor, offset in the block, elements).
template <class Run>
void for_each_run(const BlockPlan& block, Run run) {
  const std::size_t last = block.extents.size() - 1;
  const std::int64_t length = block.extents[last];
  std::int64_t index[kMaxDimensions] = {};
  std::int64_t position = block.first;
  for (std::int64_t offset = 0; offset < block.size; offset += length) {
    run(position, offset, length);
    for (std::size_t axis = last; axis-- > 0;) {
      position += block.strides[axis];
      if (++index[axis] < block.extents[axis]) break;
      position -= index[axis] * block.strides[axis];
      index[axis] = 0;
    }
  }
}

inline void read_block(const float* tensor, const BlockPlan& block, float* to) {
  for_each_run(block, [&](std::int64_t position, std::int64_t offset, std::int64_t length) {
    std::memcpy(to + offset, tensor + position, static_cast<std::size_t>(length) * sizeof(float));
  });
}

inline void write_block(const float* from, const BlockPlan& block, float* tensor) {
  for_each_run(block, [&](std::int64_t position, std::int64_t offset, std::int64_t length) {
    std::memcpy(tensor + position, from + offset, static_cast<std::size_t>(length) * sizeof(float));
  });
}

/// Whether products can read and write a block in its tensor.
inline bool is_in_place(const BlockPlan& block) {
  return block.extents.size() == 1 || (block.extents.size() == 2 && block.extents[1] > 1);
}

/// The layout of an axis in the tensor, for a block that is_in_place().
inline AxisLayout layout_in_tensor(const BlockPlan& block, const FactorPlan& axis) {
  const std::int64_t row = block.extents.size() == 1 ? block.size : block.strides[0];
  return axis.inner == 1 ? AxisLayout{axis.outer, axis.n, 1, row, 1} : AxisLayout{1, axis.n, axis.inner, 0, row};
}

/// The layout of an axis in a compact copy of its block.
inline AxisLayout compact_layout(const FactorPlan& axis) {
  return {axis.outer, axis.n, axis.inner, axis.n * axis.inner, axis.inner};
}

}  // namespace gradstep::cpu
