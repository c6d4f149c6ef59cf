// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/compare_ranks.h"

#include <vector>

#include "core/error.h"

namespace gradstep {

void compare_ranks(Communicator& comm, std::span<const std::uint64_t> own, FunctionRef<std::string(std::size_t)> what,
                   const Deadline& deadline) {
  std::vector<std::uint64_t> room(own.size() * static_cast<std::size_t>(comm.world_size()));
  compare_ranks(comm, own, what, deadline, room);
}

void compare_ranks(Communicator& comm, std::span<const std::uint64_t> own, FunctionRef<std::string(std::size_t)> what,
                   const Deadline& deadline, std::span<std::uint64_t> room) {
  const std::size_t count = own.size();
  const std::span<std::uint64_t> all = room.first(count * static_cast<std::size_t>(comm.world_size()));
  comm.all_gather(own.data(), all.data(), static_cast<std::int64_t>(own.size_bytes()), deadline);
  for (std::size_t k = count; k < all.size(); ++k) {
    if (all[k] == all[k % count]) continue;
    fail(GRADSTEP_ERR_MISMATCH, "rank {} and rank 0 disagree on {}", k / count, what(k % count));
  }
}

}  // namespace gradstep
