// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/bucket_slices.h"

#include <numeric>

namespace gradstep {

BucketSlices bucket_slices(const BucketPlan& plan, const Schema& schema, const DealtSlices& dealt, std::size_t rank) {
  const std::size_t count = plan.parameters.size();
  const std::size_t ranks = dealt.slices.size();
  BucketSlices all;
  all.offsets.resize(count);
  all.own.resize(count);
  all.places.resize(count);
  std::int64_t packed = 0;
  const auto pack = [&](std::size_t position) {
    const std::size_t i = plan.parameters[position];
    if (schema[i].size == 0) return;
    BucketSlices::Segment& segment = all.segments.back();
    all.offsets[position] = packed;
    packed += schema[i].size;
    for (std::size_t r = 0; r < ranks; ++r) segment.counts[r] += dealt.slices[r][i].size;
    all.own[position] = dealt.slices[rank][i];
    all.places[position] = all.piece;
    all.piece += all.own[position].size;
  };
  const auto begin_segment = [&] {
    all.segments.push_back({packed, std::vector<std::int64_t>(ranks), 0, 0, all.piece});
  };
  begin_segment();
  for (std::size_t k = 0; k < count; ++k) {
    if (!dealt.is_undivided[plan.parameters[k]]) pack(k);
  }
  begin_segment();
  for (const std::vector<Slice>& own : dealt.slices) {
    for (std::size_t k = 0; k < count; ++k) {
      if (dealt.is_undivided[plan.parameters[k]] && own[plan.parameters[k]].size > 0) pack(k);
    }
  }
  for (BucketSlices::Segment& segment : all.segments) {
    const auto own = segment.counts.begin() + static_cast<std::ptrdiff_t>(rank);
    segment.own_begin = std::accumulate(segment.counts.begin(), own, segment.begin);
    segment.own_count = *own;
  }
  std::erase_if(all.segments, [](const BucketSlices::Segment& segment) { return segment.size() == 0; });
  return all;
}

}  // namespace gradstep
