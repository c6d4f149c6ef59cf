// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Blocks in and out of their tensors, by runs of neighbouring elements.
#pragma once

#include <cstdint>
#include <cstring>

#include "backend/preconditioning.h"
#include "core/array.h"

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

}  // namespace gradstep::cpu
