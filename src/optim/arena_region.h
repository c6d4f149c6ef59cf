// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The arena of a sharded step, through which gradients travel: one region for each arithmetic dtype of the parameters
// that are dealt out in slices, and one for those that one rank each has as a whole.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/site.h"
#include "core/schema.h"
#include "core/slice.h"
#include "optim/dealing.h"

namespace gradstep {

/// Parameters of one dtype, one after the other in the arena. A rank's slices of them are contiguous there.
struct ArenaRegion {
  DType dtype = DType::f32;
  bool is_divided = true;  ///< else one rank each has the parameters as a whole
  std::vector<std::size_t> parameters;
  std::vector<std::int64_t> first;   ///< by position: where the parameter begins, in elements
  std::vector<std::int64_t> counts;  ///< elements by rank
  std::int64_t offset = 0;           ///< of the region in the arena, in bytes
  std::int64_t elements = 0;
  std::int64_t own_first = 0;  ///< where this rank's elements begin
  Buffer own;                  ///< this rank's elements, reduced; none if it has all

  Array array(const Buffer& arena, std::int64_t from, std::int64_t count) const {
    return compact_array(arena.as<std::byte>() + offset + from * size_of(dtype), count, dtype);
  }
  Array all(const Buffer& arena) const { return array(arena, 0, elements); }
};

/// `slices` as `dealing`, which has no groups, gives them.
std::vector<ArenaRegion> arena_regions(const Schema& schema, const Dealing& dealing, const RankSlices& slices,
                                       std::int32_t own_rank);
/// The size of an arena that has room for them.
std::int64_t arena_bytes(std::span<const ArenaRegion> regions);

}  // namespace gradstep
