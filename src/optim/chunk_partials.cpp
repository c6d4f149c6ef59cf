// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/chunk_partials.h"

#include <cstddef>
#include <numeric>

namespace gradstep {

void ChunkPartials::deal(const Schema& schema, const RankSlices& slices, std::int32_t rank, bool is_whole) {
  const auto chunks_of = [](std::int64_t elements) { return (elements + kChunk - 1) / kChunk; };
  counts_.assign(slices.size(), 0);
  rank_bytes_.resize(slices.size());
  runs_.clear();
  total_ = 0;
  for (std::size_t r = 0; r < slices.size(); ++r) {
    if (r == static_cast<std::size_t>(rank)) first_ = total_;
    std::int64_t first = 0;  // of the parameter
    for (std::size_t i = 0; i < schema.size(); ++i) {
      const std::int64_t count = chunks_of(slices[r][i].size);
      const std::int64_t in_schema = first + slices[r][i].begin / kChunk;
      first += chunks_of(schema[i].size);
      if (count == 0) continue;
      if (!runs_.empty() && runs_.back().in_schema + runs_.back().count == in_schema) {
        runs_.back().count += count;
      } else {
        runs_.push_back({total_, in_schema, count});
      }
      counts_[r] += count;
      total_ += count;
    }
  }
  if (is_whole) runs_.clear();
  if (runs_.size() > 1) by_rank_ = site_.allocate(static_cast<std::size_t>(total_) * kLargest, /*zeroed=*/false);
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
