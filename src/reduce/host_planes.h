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

class HostPlanes {
 public:
  /// Both outlive it.
  HostPlanes(HostSums& sums, ExchangeResources& resources);

  /// Joins the ranks of this host.
  DataPlane& inside() { return inside_; }
  /// Joins the ranks that own the same stretch as this one, one of each host; NULL = this rank owns none.
  DataPlane* between() { return between_.get(); }
  std::size_t ranks_inside() const { return static_cast<std::size_t>(sums_.inside().world_size()); }
  /// This rank's place inside its host; below owners() it is that of its stretch.
  std::size_t place() const { return static_cast<std::size_t>(sums_.inside().rank()); }
  std::size_t owners() const { return static_cast<std::size_t>(sums_.owners()); }
  std::size_t hosts() const { return static_cast<std::size_t>(sums_.hosts()); }
  /// This host's place; of owners alone.
  std::size_t host() const { return static_cast<std::size_t>(sums_.between()->rank()); }
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
