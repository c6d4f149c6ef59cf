// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Rows and columns of a chunk's elements.
#pragma once

#include <cstdint>

#include "backend/work_list.h"
#include "device/block.h"

namespace gradstep::cuda {

/// Where an element stands in its matrix.
struct Place {
  std::int64_t row;
  std::int64_t column;
};

/// Places of a chunk's elements. Divisions of 64 bits are slow: a chunk has one.
class Places {
 public:
  GRADSTEP_DEVICE Places(const Chunk& chunk, std::int64_t columns)
      : columns_(columns), begin_(chunk.offset), first_{begin_ / columns, begin_ % columns} {}

  GRADSTEP_DEVICE Place at(std::int64_t i) const {
    const std::int64_t beyond = first_.column + (i - begin_);
    if (columns_ >= kChunk) {
      const bool is_next = beyond >= columns_;
      return {first_.row + (is_next ? 1 : 0), is_next ? beyond - columns_ : beyond};
    }
    const auto columns = static_cast<std::uint32_t>(columns_);
    return {first_.row + static_cast<std::uint32_t>(beyond) / columns, static_cast<std::uint32_t>(beyond) % columns};
  }

 private:
  std::int64_t columns_;
  std::int64_t begin_;
  Place first_;
};

}  // namespace gradstep::cuda
