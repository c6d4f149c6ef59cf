// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Where the elements of blocks lie: in their tensors, and turned in scratch.
#pragma once

#include "device/chunk.h"
#include "kernels/blocks.h"

namespace gradstep::cuda {

/// Numbers of a tensor in its arithmetic.
template <class T>
GRADSTEP_DEVICE const T* numbers_of(const void* numbers) {
  return static_cast<const T*>(numbers);
}
template <class T>
GRADSTEP_DEVICE T* numbers_of(void* numbers) {
  return static_cast<T*>(numbers);
}

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

/// An element of a block whose tensor takes part.
struct BlockElement {
  const BlockItem& block;
  const TensorItem& tensor;
  std::int64_t number;   ///< the block's, in the batch
  std::int64_t index;    ///< in the block
  std::int64_t scratch;  ///< its place in scratch, if blocks lie there as they are

  GRADSTEP_DEVICE std::int64_t place() const { return place_in_tensor(block, static_cast<std::uint32_t>(index)); }
};

/// body(element) for those of the chunk that is the thread block's.
template <class Body>
GRADSTEP_DEVICE void for_each_of_blocks(const Block& block, const BlockBatch& batch, Body body) {
  const Chunk chunk = block.load(batch.chunks.chunks + block.index());
  const BlockItem& own = *block.checked(batch.blocks + chunk.item);
  const TensorItem& tensor = *block.checked(batch.tensors + own.tensor);
  if (tensor.takes_part == 0) return;
  for_each_element(block, chunk, [&](std::int64_t i) {
    body(BlockElement{own, tensor, chunk.item, i, chunk.item * batch.size + i});
  });
}

/// Runs over blocks that lie turned in scratch: `scratch` runs through that.
template <class Body>
GRADSTEP_DEVICE void for_each_turned(const Block& block, const BlockBatch& batch, std::int64_t moved, Body body) {
  for_each_of_blocks(block, batch, [&](const BlockElement& at) {
    body(BlockElement{at.block, at.tensor, at.number, turned(at.index, batch.size, moved), at.scratch});
  });
}

}  // namespace gradstep::cuda
