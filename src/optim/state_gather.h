// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// States that are spread over ranks, brought together many at a time: over a network each collective costs a round
// trip.
#pragma once

#include <cstdint>
#include <vector>

#include "core/deadline.h"
#include "core/memory.h"
#include "optim/state/stored_state.h"

namespace gradstep {

class SteppedModel;

/// Serves states in the order of a list, which is the same on all ranks.
class StateGather {
 public:
  /// What one collective brings at most, unless a single state is larger.
  static constexpr std::int64_t kBatchBytes = std::int64_t{8} << 20;

  /// Makes all the room that gather() needs. `model` outlives it, and stays as it is.
  StateGather(SteppedModel& model, std::vector<StoredState> states);

  /// Writes the whole of state k, contiguous, to `whole`. Each state is asked for once, in the order of the list.
  /// Collective; allocates nothing.
  void gather(std::size_t k, void* whole, const Deadline& deadline);
  /// With the communicator's deadline for each batch.
  void gather(std::size_t k, void* whole);

 private:
  bool travels(const StoredState& state) const;
  /// How many bytes of a state a rank has.
  std::int64_t bytes_of(const StoredState& state, std::int32_t rank) const;
  std::int64_t bytes_of(const StoredState& state) const;
  /// The end of the batch that begins with state k.
  std::size_t batch_end(std::size_t k) const;
  void bring(std::size_t begin, std::size_t end, const Deadline& deadline);

  SteppedModel& model_;
  std::vector<StoredState> states_;
  std::size_t end_ = 0;                   // of the present batch
  std::vector<std::int64_t> rank_bytes_;  // by rank, of the batch
  std::vector<std::int64_t> places_;      // by rank: of the next state's part in received_
  // On the host.
  Buffer own_;
  Buffer received_;  // one rank's parts after the other's
};

}  // namespace gradstep
