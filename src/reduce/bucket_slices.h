// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A bucket whose outcome is dealt out: where its parameters are packed, so that each rank's share is contiguous, and
// what of them is this rank's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "core/schema.h"
#include "core/slice.h"
#include "reduce/plan.h"

namespace gradstep {

struct BucketSlices {
  /// Elements that are scattered in one call.
  struct Segment {
    std::int64_t begin = 0;            ///< in the packed bucket
    std::vector<std::int64_t> counts;  ///< by rank
    std::int64_t own_begin = 0;        ///< of this rank's elements, in the packed bucket
    std::int64_t own_count = 0;
    std::int64_t place = 0;  ///< of these in this rank's piece

    bool operator==(const Segment&) const = default;
    std::int64_t size() const { return std::accumulate(counts.begin(), counts.end(), std::int64_t{0}); }
  };

  // By position in the bucket.
  std::vector<std::int64_t> offsets;  ///< where the parameter is packed
  std::vector<Slice> own;             ///< this rank's slice of it
  std::vector<std::int64_t> places;   ///< where this lies in the rank's piece

  std::vector<Segment> segments;  ///< the divided parameters, and those that one rank each has
  std::int64_t piece = 0;         ///< elements of this rank's piece

  bool operator==(const BucketSlices&) const = default;
};

BucketSlices bucket_slices(const BucketPlan& plan, const Schema& schema, const DealtSlices& dealt, std::size_t rank);

}  // namespace gradstep
