// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/staged_parameters.h"

#include <utility>

namespace gradstep {

void StagedParameters::place(const Schema& schema, std::span<const Slice> own, std::vector<ArenaRegion> regions) {
  regions_ = std::move(regions);
  slices_.resize(schema.size());
  in_.resize(schema.size());
  out_.resize(schema.size());
  for (const ArenaRegion& region : regions_) {
    for (std::size_t k = 0; k < region.parameters.size(); ++k) {
      const std::size_t i = region.parameters[k];
      const Array whole = region.array(arena_, region.first[k], schema[i].size);
      in_.set(i, whole);
      out_.set(i, whole);
      slices_[i] = region.array(arena_, region.first[k] + own[i].begin, own[i].size);
    }
  }
}

void StagedParameters::stage(const BufferList& params) {
  site_.backend().copy(in_.plan(part_, params), 1, 1, site_.queue());
}

void StagedParameters::publish(const BufferList& targets, const Deadline& deadline) {
  for (const ArenaRegion& region : regions_) {
    const Array own = region.array(arena_, region.own_first, 0);
    data_.all_gather_v(own.data, region.array(arena_, 0, 0).data, region.bytes, deadline);
  }
  data_.settle(deadline);
  site_.backend().copy(out_.plan(whole_, targets), 1, 1, site_.queue());
}

}  // namespace gradstep
