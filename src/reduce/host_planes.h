// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The groups of sums by hosts (comm/host_sums.h), on memory of the site, for exchanges that do more than sum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "comm/data_plane.h"
#include "comm/host_sums.h"
#include "core/function_ref.h"
#include "reduce/exchange_resources.h"

namespace gradstep {

/// Who works on which part of a bucket: it has a stretch for each owner, and a stretch has a piece for each rank of the
/// owner's group.
struct Division {
  DataPlane* group = nullptr;  ///< NULL = this rank owns nothing
  std::size_t owners = 1;
  std::size_t own = 0;  ///< this rank's stretch; `owners` = none
  std::size_t ranks = 1;
  std::size_t rank = 0;  ///< this one in the group
};

/// One stretch, whose group is all ranks.
Division division_among_all(const ExchangeResources& resources);

class HostPlanes {
 public:
  /// Both outlive it.
  HostPlanes(HostSums& sums, ExchangeResources& resources);

  /// Joins the ranks of this host.
  DataPlane& inside() { return inside_; }
  std::size_t ranks_inside() const { return static_cast<std::size_t>(sums_.inside().world_size()); }
  /// The first ranks of each host own a stretch, and the owners of a stretch, one of each host, are a group.
  Division division() const;
  /// Reductions of the communicator are by hosts now.
  bool is_used() const { return sums_.is_used(); }

  /// Runs `body`, which makes calls of these groups, as one exchange of `comm`.
  void run(Communicator& comm, const Deadline& deadline, FunctionRef<void()> body);

 private:
  HostSums& sums_;
  DataPlane inside_;
  std::unique_ptr<DataPlane> between_;
};

}  // namespace gradstep
