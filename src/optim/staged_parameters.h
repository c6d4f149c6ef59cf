// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The parameters of a sharded step: each rank steps its slices in the arena, and all of them gather what came of it.
#pragma once

#include <span>
#include <vector>

#include "backend/bound_copies.h"
#include "comm/data_plane.h"
#include "optim/arena_region.h"

namespace gradstep {

class StagedParameters {
 public:
  /// All outlive it. `part`: the work on this rank's slices, at their places in the whole tensors.
  StagedParameters(const Site& site, DataPlane& data, const Buffer& arena, const WorkList& whole, const WorkList& part)
      : site_(site), data_(data), arena_(arena), whole_(whole), part_(part) {}

  /// `own`: this rank's slices.
  void place(const Schema& schema, std::span<const Slice> own, std::vector<ArenaRegion> regions);
  /// Copies this rank's slices of the parameters to where the step works on them.
  void stage(const BufferList& params);
  std::span<const Array> slices() const { return slices_; }
  /// Gathers what all ranks have staged and, when all is there, writes it to the targets. Collective.
  void publish(const BufferList& targets, const Deadline& deadline);

 private:
  const Site& site_;
  DataPlane& data_;
  const Buffer& arena_;
  const WorkList& whole_;
  const WorkList& part_;
  std::vector<ArenaRegion> regions_;
  BoundCopies in_{BoundCopies::Direction::from_host};  // to the arena
  BoundCopies out_{BoundCopies::Direction::to_host};
  std::vector<Array> slices_;
};

}  // namespace gradstep
