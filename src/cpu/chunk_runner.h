// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Large loops are divided over the threads of the context; small ones are run by the caller alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "backend/context.h"

namespace gradstep::cpu {

/// Waking the pool costs about as much as this many elements.
constexpr std::int64_t kSerialElements = 2 * kChunk;

class ChunkRunner {
 public:
  /// `context` outlives it.
  explicit ChunkRunner(Context& context) : context_(context) {}

  /// body(begin, end) for parts of `lines` lines of `length` elements, `part` lines each.
  template <class Body>
  void for_each_part(std::int64_t lines, std::int64_t part, std::int64_t length, Body body) {
    const std::int64_t parts = (lines + part - 1) / part;
    const auto run = [&](std::int64_t i) { body(i * part, std::min(lines, (i + 1) * part)); };
    if (lines * length <= kSerialElements) {
      for (std::int64_t i = 0; i < parts; ++i) run(i);
    } else {
      context_.parallel_for(parts, run);
    }
  }

  /// body(i) for every chunk, on the caller alone when that is faster.
  template <class Body>
  void for_each_chunk(std::span<const Chunk> chunks, Body body) {
    if (is_small(chunks)) {
      for (std::size_t i = 0; i < chunks.size(); ++i) body(i);
    } else {
      context_.parallel_for(static_cast<std::int64_t>(chunks.size()),
                            [&](std::int64_t i) { body(static_cast<std::size_t>(i)); });
    }
  }

  /// body(first, count) for every chunk of `elements`, likewise.
  template <class Body>
  void for_each_piece(std::int64_t elements, Body body) {
    const std::int64_t pieces = chunks_of(elements);
    const auto piece = [&](std::int64_t i) { body(i * kChunk, std::min(kChunk, elements - i * kChunk)); };
    if (elements <= kSerialElements) {
      for (std::int64_t i = 0; i < pieces; ++i) piece(i);
    } else {
      context_.parallel_for(pieces, piece);
    }
  }

 private:
  static bool is_small(std::span<const Chunk> chunks) {
    std::int64_t elements = 0;
    for (const Chunk& chunk : chunks) {
      elements += chunk.length;
      if (elements > kSerialElements) return false;
    }
    return true;
  }

  Context& context_;
};

}  // namespace gradstep::cpu
