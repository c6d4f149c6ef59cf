// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Where the elements of blocks lie: in their tensors, and turned in scratch.
#pragma once

#include "device/block.h"
#include "kernels/blocks.h"

namespace gradstep::cuda {

/// Element i of a block where its tensor has it.
GRADSTEP_DEVICE std::int64_t place_in_tensor(const BlockItem& block, std::uint32_t i) {
  std::int64_t place = block.first;
  for (std::int64_t d = block.ndim - 1; d > 0; --d) {
    place += static_cast<std::int64_t>(i % block.extents[d]) * block.strides[d];
    i /= block.extents[d];
  }
  return place + static_cast<std::int64_t>(i) * block.strides[0];
}

/// Which element of the block stands at place i of it, turned.
GRADSTEP_DEVICE std::uint32_t turned(std::int64_t place, std::int64_t all, std::int64_t first_axes) {
  const auto i = static_cast<std::uint32_t>(place);  // divisions of 64 bits are slow
  const auto size = static_cast<std::uint32_t>(all);
  const auto moved = static_cast<std::uint32_t>(first_axes);
  return moved == 1 ? i : i % moved * (size / moved) + i / moved;
}

}  // namespace gradstep::cuda
