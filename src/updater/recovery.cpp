// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "updater/recovery.h"

#include <algorithm>
#include <vector>

#include "core/error.h"

namespace gradstep {

namespace {

struct Standing {
  std::int64_t steps;  // -1 = without a whole state to give
  std::int64_t skipped;
  std::int64_t buffers;  // state buffers that exist
  std::int64_t bytes;    // of all of them
  std::int64_t window_pushes;
};

/// The lowest rank with the most steps.
std::size_t furthest(const std::vector<Standing>& all) {
  std::size_t root = 0;
  for (std::size_t r = 1; r < all.size(); ++r) {
    if (all[r].steps > all[root].steps) root = r;
  }
  return root;
}

bool windows_agree(const std::vector<Standing>& all, std::int64_t steps) {
  const auto pushes = [&](const Standing& s) { return s.steps == steps ? s.window_pushes : 0; };
  return std::all_of(all.begin(), all.end(), [&](const Standing& s) { return pushes(s) == pushes(all[0]); });
}

/// A host buffer or a state buffer, and the contiguous copy of it that travels.
struct Transfer {
  Array target;
  Buffer staging;
  Array staged() const { return {staging.data(), target.size, target.dtype, 0, nullptr, nullptr}; }
};

}  // namespace

Adoption adopt_furthest(Communicator& comm, Optimizer& optimizer, const gradstep_tensor* params, std::size_t n,
                        std::int64_t window_pushes) {
  const Deadline deadline = comm.deadline();
  Context& context = *optimizer.context();
  const std::vector<StoredState> states = optimizer.stored_states();
  Standing own{optimizer.state_is_whole() ? optimizer.step_count() : -1, optimizer.skipped_steps(),
               static_cast<std::int64_t>(states.size()), 0, window_pushes};
  for (const StoredState& state : states) own.bytes += state.array.bytes();
  std::vector<Standing> all(static_cast<std::size_t>(comm.world_size()));
  comm.all_gather(&own, all.data(), sizeof own, deadline);
  for (std::size_t r = 1; r < all.size(); ++r) {
    if (all[r].buffers != all[0].buffers || all[r].bytes != all[0].bytes) {
      fail(GRADSTEP_ERR_MISMATCH, "rank {} holds {} state buffers of {} bytes, rank 0 holds {} of {}", r,
           all[r].buffers, all[r].bytes, all[0].buffers, all[0].bytes);
    }
  }
  const std::size_t root = furthest(all);
  if (all[root].steps < 0) {
    fail(GRADSTEP_ERR_INVALID_STATE,
         "recover: no rank has a whole state since the exchange that failed: load one first");
  }
  const bool sends = static_cast<std::int32_t>(root) == comm.rank();

  std::vector<Transfer> transfers;
  const auto stage = [&](const Array& target) {
    transfers.push_back({target, context.allocate(static_cast<std::size_t>(target.bytes()), /*zeroed=*/false)});
  };
  for (std::size_t i = 0; i < n; ++i) stage(optimizer.schema().parameter_array("params", i, params[i]));
  for (const StoredState& state : states) stage(state.array);

  WorkList work;
  std::vector<CopyItem> out;
  std::vector<CopyItem> in;
  for (const Transfer& transfer : transfers) {
    work.append(transfer.target.size);
    out.push_back({transfer.staged(), transfer.target});
    in.push_back({transfer.target, transfer.staged()});
  }
  if (sends) context.backend().copy(work, out, 1, 1);
  for (const Transfer& transfer : transfers) {
    if (transfer.target.size == 0) continue;
    comm.broadcast(transfer.staging.data(), transfer.target.bytes(), static_cast<std::int32_t>(root), deadline);
  }
  std::vector<std::uint8_t> flags = optimizer.state_flags();
  if (!flags.empty()) {
    comm.broadcast(flags.data(), static_cast<std::int64_t>(flags.size()), static_cast<std::int32_t>(root), deadline);
  }
  // Nobody commits unless everybody can.
  if (!comm.vote(true, deadline)) fail(GRADSTEP_ERR_ABORTED, "a rank did not agree to recover");
  if (!sends) {
    context.backend().copy(work, in, 1, 1);
    optimizer.set_state_flags(flags);
    optimizer.set_counters(all[root].steps, all[root].skipped);
  }
  return {windows_agree(all, all[root].steps)};
}

}  // namespace gradstep
