// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/arena_region.h"

#include <algorithm>
#include <numeric>

namespace gradstep {

namespace {

constexpr std::int64_t kRegionAlignment = 64;

}  // namespace

std::vector<ArenaRegion> arena_regions(const Schema& schema, const Dealing& dealing, const RankSlices& slices,
                                       std::int32_t own_rank) {
  std::vector<ArenaRegion> all;
  const auto append = [&](std::size_t i, bool is_divided) {
    const DType dtype = arithmetic_dtype(schema[i].dtype);
    const auto is_its = [&](const ArenaRegion& r) { return r.dtype == dtype && r.is_divided == is_divided; };
    const auto found = std::ranges::find_if(all, is_its);
    ArenaRegion& region = found != all.end() ? *found : all.emplace_back();
    region.dtype = dtype;
    region.is_divided = is_divided;
    region.parameters.push_back(i);
    region.first.push_back(region.elements);
    region.elements += schema[i].size;
    region.counts.resize(slices.size());
    for (std::size_t r = 0; r < slices.size(); ++r) region.counts[r] += slices[r][i].size;
  };
  for (std::size_t i = 0; i < schema.size(); ++i) {
    if (!dealing.is_undivided(i)) append(i, /*is_divided=*/true);
  }
  for (const std::vector<Slice>& own : slices) {
    for (std::size_t i = 0; i < schema.size(); ++i) {
      if (dealing.is_undivided(i) && own[i].size > 0) append(i, /*is_divided=*/false);
    }
  }
  std::int64_t offset = 0;
  for (ArenaRegion& region : all) {
    region.offset = offset;
    offset = whole_units(offset + region.elements * size_of(region.dtype), kRegionAlignment);
    region.own_first = std::accumulate(region.counts.begin(), region.counts.begin() + own_rank, std::int64_t{0});
  }
  return all;
}

std::int64_t arena_bytes(std::span<const ArenaRegion> regions) {
  return regions.empty() ? 0 : regions.back().offset + regions.back().elements * size_of(regions.back().dtype);
}

}  // namespace gradstep
