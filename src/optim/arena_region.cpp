// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/arena_region.h"

#include <algorithm>
#include <numeric>

namespace gradstep {

namespace {

constexpr std::int64_t kRegionAlignment = 64;

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + kRegionAlignment - 1) / kRegionAlignment * kRegionAlignment;
}

bool is_divided_among(std::span<const double> costs, std::size_t i) { return costs.empty() || costs[i] == 0; }

/// Parameters in their order, and after them those that are not divided, by the rank that has them.
std::vector<std::size_t> by_owner(std::span<const std::vector<Slice>> slices, std::span<const double> costs) {
  const std::size_t count = slices.front().size();
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < count; ++i) {
    if (is_divided_among(costs, i)) order.push_back(i);
  }
  for (const std::vector<Slice>& own : slices) {
    for (std::size_t i = 0; i < count; ++i) {
      if (!is_divided_among(costs, i) && own[i].size > 0) order.push_back(i);
    }
  }
  return order;
}

}  // namespace

std::vector<ArenaRegion> arena_regions(const Schema& schema, std::span<const std::vector<Slice>> slices,
                                       std::span<const double> costs, std::int32_t own_rank, bool arithmetic) {
  std::vector<ArenaRegion> all;
  for (const std::size_t i : by_owner(slices, costs)) {
    const DType dtype = arithmetic ? arithmetic_dtype(schema[i].dtype) : schema[i].dtype;
    const bool is_divided = is_divided_among(costs, i);
    auto region = std::find_if(all.begin(), all.end(),
                               [&](const ArenaRegion& r) { return r.dtype == dtype && r.is_divided == is_divided; });
    if (region == all.end()) {
      region = all.insert(all.end(), ArenaRegion{});
      region->dtype = dtype;
      region->is_divided = is_divided;
      region->counts.resize(slices.size());
    }
    region->parameters.push_back(i);
    region->first.push_back(region->elements);
    region->elements += schema[i].size;
    for (std::size_t r = 0; r < slices.size(); ++r) region->counts[r] += slices[r][i].size;
  }
  std::int64_t offset = 0;
  for (ArenaRegion& region : all) {
    region.offset = offset;
    offset = aligned(offset + region.elements * size_of(region.dtype));
    for (const std::int64_t count : region.counts) region.bytes.push_back(count * size_of(region.dtype));
    region.own_first = std::accumulate(region.counts.begin(), region.counts.begin() + own_rank, std::int64_t{0});
  }
  return all;
}

std::int64_t arena_bytes(std::span<const ArenaRegion> regions) {
  return regions.empty() ? 0 : regions.back().offset + regions.back().elements * size_of(regions.back().dtype);
}

}  // namespace gradstep
