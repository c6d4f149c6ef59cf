// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// How a block walks through a chunk (backend/chunk.h): four elements at a time where all operands are aligned.
#pragma once

#include "backend/chunk.h"
#include "device/view.h"

namespace gradstep::cuda {

inline constexpr int kChunkThreads = 256;  ///< of a block that has a chunk, in most kernels

/// body(element) for those of a chunk that are the thread's.
template <class Body>
GRADSTEP_DEVICE void for_each_element(const Block& block, const Chunk& chunk, Body body) {
  for (std::int64_t i = block.thread(); i < chunk.length; i += block.threads()) body(chunk.offset + i);
}

/// The chunk of `size` elements that is the block's.
GRADSTEP_DEVICE Chunk chunk_of_block(const Block& block, std::int64_t size) {
  const std::int64_t first = block.index() * kChunk;
  const std::int64_t length = size - first < kChunk ? size - first : kChunk;
  return {0, static_cast<std::int32_t>(length), first};
}

/// four(first element) for groups of four elements of a chunk, if it may be walked so, and one(element) for all others;
/// the block's threads share them out.
template <class InFours, class One>
GRADSTEP_DEVICE void walk(const Block& block, const Chunk& chunk, bool in_fours, InFours four, One one) {
  const std::int64_t whole = in_fours ? chunk.length / 4 * 4 : 0;
  for (std::int64_t i = 4 * block.thread(); i < whole; i += 4 * block.threads()) four(chunk.offset + i);
  for (std::int64_t i = whole + block.thread(); i < chunk.length; i += block.threads()) one(chunk.offset + i);
}

}  // namespace gradstep::cuda
