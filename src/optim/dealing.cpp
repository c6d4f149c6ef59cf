// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/dealing.h"

#include <algorithm>
#include <numeric>

#include "backend/chunk.h"
#include "optim/assignment.h"

namespace gradstep {

std::vector<std::vector<std::size_t>> Dealing::groups_of(const Schema& schema) const {
  if (!groups.empty()) return groups;
  std::vector<std::size_t> all(schema.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return {std::move(all)};
}

// A chunk goes to the rank in whose share of the group's elements its middle lies.
RankSlices deal_out(const Schema& schema, const Dealing& dealing, std::int32_t ranks) {
  const auto count = static_cast<std::size_t>(ranks);
  RankSlices slices(count, std::vector<Slice>(schema.size()));
  if (dealing.is_whole) {
    for (auto& own : slices) {
      for (std::size_t i = 0; i < schema.size(); ++i) own[i] = {0, schema[i].size};
    }
    return slices;
  }
  const std::vector<std::int32_t> owners = assign_longest_first(dealing.costs, ranks);
  for (const std::vector<std::size_t>& group : dealing.groups_of(schema)) {
    std::int64_t total = 0;
    for (const std::size_t i : group) total += dealing.is_undivided(i) ? 0 : schema[i].size;
    std::int64_t before = 0;
    for (const std::size_t i : group) {
      const std::int64_t size = schema[i].size;
      if (dealing.is_undivided(i)) {
        slices[static_cast<std::size_t>(owners[i])][i] = {0, size};
        continue;
      }
      for (std::int64_t offset = 0; offset < size; offset += kChunk) {
        const std::int64_t length = std::min(kChunk, size - offset);
        const double middle = static_cast<double>(before) + static_cast<double>(length) / 2;
        const auto share = static_cast<std::size_t>(middle * static_cast<double>(ranks) / static_cast<double>(total));
        before += length;
        Slice& slice = slices[std::min(share, count - 1)][i];
        if (slice.size == 0) slice.begin = offset;
        slice.size += length;
      }
    }
  }
  return slices;
}

}  // namespace gradstep
