// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace gradstep {

/// Elements per chunk. Reductions fold one f64 partial per chunk in one fixed tree (docs/numerics.md).
inline constexpr std::int64_t kChunk = 16 * 1024;
/// How many chunks so many elements have.
constexpr std::int64_t chunks_of(std::int64_t elements) { return (elements + kChunk - 1) / kChunk; }

struct Chunk {
  std::int32_t item;
  std::int32_t length;
  std::int64_t offset;
};

}  // namespace gradstep
