// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/compare_ranks.h"

#include <vector>

#include "core/error.h"

namespace gradstep {

void compare_ranks(Communicator& comm, std::span<const std::uint64_t> own, const char* (*what)(std::size_t),
                   const Deadline& deadline) {
  const std::size_t count = own.size();
  std::vector<std::uint64_t> all(count * static_cast<std::size_t>(comm.world_size()));
  comm.all_gather(own.data(), all.data(), static_cast<std::int64_t>(own.size_bytes()), deadline);
  for (std::size_t k = count; k < all.size(); ++k) {
    if (all[k] == all[k % count]) continue;
    fail(GRADSTEP_ERR_MISMATCH, "rank {} and rank 0 disagree on {}", k / count, what(k % count));
  }
}

}  // namespace gradstep
