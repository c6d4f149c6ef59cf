// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/chunk_partials.h"

#include <algorithm>
#include <cstddef>

namespace gradstep {

void ChunkPartials::deal(const Schema& schema, const RankSlices& slices, std::int32_t rank, bool is_whole) {
  first_in_schema_ = {0};
  for (const Parameter& parameter : schema) {
    first_in_schema_.push_back(first_in_schema_.back() + chunks_of(parameter.size));
  }
  deal(slices.size(), rank, is_whole, [&](std::size_t r, std::size_t i) -> Share {
    return {slices[r][i].begin / kChunk, chunks_of(slices[r][i].size)};
  });
}

void ChunkPartials::deal(const Schema& schema, const Parts& parts, const RankSlices& slices, std::int32_t rank,
                         bool is_whole) {
  std::vector<std::int64_t> counts(schema.size(), 0);
  const auto share = [&](std::size_t r, std::size_t i) -> Share {
    const auto of = static_cast<std::int32_t>(r);
    Share found{counts[i], chunks_of(slices[r][i].size), parts.travels(i) || parts.stands(of, i)};
    if (found.stands) counts[i] += found.count;
    return found;
  };
  const auto ranks = static_cast<std::size_t>(parts.ranks());
  for (std::size_t r = 0; r < ranks; ++r) {
    for (std::size_t i = 0; i < schema.size(); ++i) (void)share(r, i);
  }
  first_in_schema_ = {0};
  for (const std::int64_t count : counts) first_in_schema_.push_back(first_in_schema_.back() + count);
  std::ranges::fill(counts, 0);
  deal(ranks, rank, is_whole, share);
}

void ChunkPartials::deal(std::size_t ranks, std::int32_t rank, bool is_whole,
                         FunctionRef<Share(std::size_t rank, std::size_t parameter)> share) {
  counts_.assign(ranks, 0);
  rank_bytes_.resize(ranks);
  runs_.clear();
  total_ = 0;
  for (std::size_t r = 0; r < ranks; ++r) {
    if (r == static_cast<std::size_t>(rank)) first_ = total_;
    for (std::size_t i = 0; i + 1 < first_in_schema_.size(); ++i) {
      const auto [first, count, stands] = share(r, i);
      const std::int64_t in_schema = first_in_schema_[i] + first;
      const std::int64_t by_rank = total_;
      counts_[r] += count;
      total_ += count;
      if (count == 0 || !stands) continue;
      Run* last = runs_.empty() ? nullptr : &runs_.back();
      if (last != nullptr && last->in_schema + last->count == in_schema && last->by_rank + last->count == by_rank) {
        last->count += count;
      } else {
        runs_.push_back({by_rank, in_schema, count});
      }
    }
  }
  if (is_whole) runs_.clear();
  if (is_whole || (runs_.size() < 2 && total_ == count())) return;
  by_rank_ = site_.allocate(static_cast<std::size_t>(total_) * kLargest, /*zeroed=*/false);
}

void ChunkPartials::gather(void* by_rank, void* partials, std::size_t each, const Deadline& deadline) const {
  for (std::size_t r = 0; r < counts_.size(); ++r) rank_bytes_[r] = counts_[r] * static_cast<std::int64_t>(each);
  const auto* gathered = static_cast<std::byte*>(by_rank);
  data_.all_gather_v(gathered + static_cast<std::size_t>(first_) * each, by_rank, rank_bytes_, deadline);
  if (by_rank == partials) return;
  for (const Run& run : runs_) {
    site_.queue().copy(static_cast<std::byte*>(partials) + static_cast<std::size_t>(run.in_schema) * each,
                       gathered + static_cast<std::size_t>(run.by_rank) * each,
                       static_cast<std::size_t>(run.count) * each);
  }
}

}  // namespace gradstep
