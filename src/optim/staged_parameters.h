// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The parameters of a sharded step: each rank steps its slices in the arena, and all of them gather what came of it, in
// one collective.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/bound_copies.h"
#include "backend/site.h"
#include "comm/data_plane.h"
#include "core/schema.h"
#include "core/slice.h"
#include "optim/working_buffers.h"

namespace gradstep {

/// Slices of all ranks in the arena: one block for each rank, in which its slices follow one another.
struct RankBlocks {
  struct Piece {
    std::int32_t rank = 0;
    std::size_t parameter = 0;
    std::int64_t place = 0;  ///< of the slice in the arena, in bytes
  };
  std::vector<Piece> pieces;        ///< by rank
  std::vector<std::int64_t> bytes;  ///< of each rank's block

  RankBlocks(const Schema& schema, const RankSlices& slices);
  std::int64_t total_bytes() const;
};

class StagedParameters final : public WorkingBuffers {
 public:
  /// All outlive it.
  StagedParameters(const Site& site, DataPlane& data, const Buffer& arena) : site_(site), data_(data), arena_(arena) {}

  /// The arena has room for `blocks`.
  void place(const Schema& schema, const RankSlices& slices, std::int32_t own_rank, RankBlocks blocks);
  /// Copies this rank's slices of the parameters to where the step works on them.
  void stage(const BufferList& params) override;
  std::span<const Array> params() const override { return slices_; }
  std::span<const Array> updates() const override { return slices_; }
  /// Gathers what all ranks have staged and, when all is there, writes it to the targets. Collective.
  void publish(const BufferList& targets, const Deadline& deadline) override;

 private:
  const Site& site_;
  DataPlane& data_;
  const Buffer& arena_;
  std::vector<std::int64_t> block_bytes_;  // by rank
  std::int64_t own_block_ = 0;             // where this rank's begins, in bytes
  WorkList own_work_;                      // of this rank's pieces
  WorkList work_;                          // of all pieces
  BoundCopies in_{BoundCopies::Direction::from_host};
  BoundCopies out_{BoundCopies::Direction::to_host};
  std::vector<Array> slices_;
};

}  // namespace gradstep
