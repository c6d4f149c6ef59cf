// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Partials that ranks measure of their own chunks, gathered. Order: the schema's; with parts: by parameter, then by
// rank.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/site.h"
#include "comm/data_plane.h"
#include "core/deadline.h"
#include "core/function_ref.h"
#include "core/schema.h"
#include "core/slice.h"
#include "optim/parts.h"
#include "rules/room.h"

namespace gradstep {

class ChunkPartials {
 public:
  /// Both outlive it. It is empty until deal() is called.
  ChunkPartials(const Site& site, DataPlane& data) : site_(site), data_(data) {}

  /// slices[r][i] is what rank r has of parameter i. `is_whole`: every rank has everything, and nothing is gathered.
  void deal(const Schema& schema, const RankSlices& slices, std::int32_t rank, bool is_whole);
  /// Chunks of a parameter are those of its boxes, one rank's after another's; with an owner those of the whole.
  void deal(const Schema& schema, const Parts& parts, const RankSlices& slices, std::int32_t rank, bool is_whole);

  /// Chunks of the whole model.
  std::int64_t count() const { return first_in_schema_.back(); }
  /// Chunks of one parameter, those of all ranks.
  std::int64_t count(std::size_t parameter) const {
    return first_in_schema_[parameter + 1] - first_in_schema_[parameter];
  }
  /// partials = what measure(to) writes for each of this rank's chunks, in its place among those of all ranks.
  /// Collective; at the site.
  template <class Partial>
  void gather(FunctionRef<void(Partial*)> measure, Partial* partials, const Deadline& deadline) const {
    static_assert(sizeof(Partial) <= kLargest);
    void* by_rank = by_rank_.data() != nullptr ? by_rank_.data() : partials;
    measure(static_cast<Partial*>(by_rank) + first_);
    gather(by_rank, partials, sizeof(Partial), deadline);
  }

  std::size_t bytes() const { return by_rank_.bytes(); }

 private:
  static constexpr std::size_t kLargest = sizeof(rules::Sums);

  /// The chunks that a rank has of a parameter.
  struct Share {
    std::int64_t first = 0;  ///< in the parameter
    std::int64_t count = 0;
    bool stands = true;  ///< else another rank has the same
  };
  /// Chunks that follow one another both among those of the ranks, one rank's after another's, and in the schema.
  struct Run {
    std::int64_t by_rank;
    std::int64_t in_schema;
    std::int64_t count;
  };

  void deal(std::size_t ranks, std::int32_t rank, bool is_whole,
            FunctionRef<Share(std::size_t rank, std::size_t parameter)> share);
  void gather(void* by_rank, void* partials, std::size_t each, const Deadline& deadline) const;

  const Site& site_;
  DataPlane& data_;
  std::vector<std::int64_t> counts_;                 // by rank
  std::int64_t total_ = 0;                           // of all ranks
  std::vector<std::int64_t> first_in_schema_ = {0};  // by parameter, then all
  std::int64_t first_ = 0;                           // of this rank's, among those of all ranks
  std::vector<Run> runs_;
  mutable std::vector<std::int64_t> rank_bytes_;  // of what is gathered
  Buffer by_rank_;  // partials; none where ranks have their chunks in the order of the schema
};

}  // namespace gradstep
