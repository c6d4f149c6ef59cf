// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/selection_counts.h"

#include <cstring>

#include "core/error.h"

namespace gradstep {

SelectionCounts::SelectionCounts(const ExchangeResources& resources, bool refuses_nans)
    : resources_(resources), refuses_nans_(refuses_nans), counts_(2 * world_size()) {}

Round SelectionCounts::round(const void* own, std::size_t pieces) {
  const auto bytes = static_cast<std::int64_t>((1 + pieces) * sizeof(std::int64_t));
  return {Call::all_gather(own, nullptr, bytes), bytes};
}

void SelectionCounts::read(const DataPlane::Seen& seen, std::size_t pieces) {
  pieces_ = pieces;
  const std::size_t length = 1 + pieces;
  counts_.resize(length * world_size());
  for (std::size_t r = 0; r < world_size(); ++r) {
    std::memcpy(&counts_[r * length], seen.first + static_cast<std::int64_t>(r) * seen.stride,
                length * sizeof(std::int64_t));
  }
  for (std::size_t r = 0; r < world_size(); ++r) {
    if (refuses_nans_ && counts_[r * length] != 0) {
      fail(GRADSTEP_ERR_NUMERIC,
           "gradient + residual of rank {} has NaN: {} of the elements that it would send are (nan_policy is error)", r,
           counts_[r * length]);
    }
  }
}

std::int64_t SelectionCounts::of_rank(std::size_t rank) const {
  std::int64_t sum = 0;
  for (std::size_t q = 0; q < pieces_; ++q) sum += of(rank, q);
  return sum;
}

std::int64_t SelectionCounts::total() const {
  std::int64_t sum = 0;
  for (std::size_t r = 0; r < world_size(); ++r) sum += of_rank(r);
  return sum;
}

}  // namespace gradstep
