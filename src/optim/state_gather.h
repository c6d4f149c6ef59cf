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

class Communicator;
class Parts;
class SteppedModel;

/// A part of a state that one rank gives to the others.
struct StatePiece {
  std::int32_t rank = 0;
  std::int64_t begin = 0;  ///< in bytes of the whole
  std::int64_t bytes = 0;
  std::int64_t from = 0;  ///< where it begins in what the rank has, in bytes
};
/// By state, in its order; none = every rank has all of it.
using StatePieces = std::vector<std::vector<StatePiece>>;

/// Serves states in the order of a list, which is the same on all ranks.
class StateGather {
 public:
  /// What one collective brings at most, unless a single state is larger.
  static constexpr std::int64_t kBatchBytes = std::int64_t{8} << 20;

  /// Makes all the room that gather() needs. `model` outlives it, and stays as it is.
  StateGather(SteppedModel& model, std::vector<StoredState> states);
  /// From these pieces, over `comm`, which outlives it too.
  StateGather(SteppedModel& model, std::vector<StoredState> states, Communicator& comm, StatePieces pieces);

  /// Writes the whole of state k, contiguous, to `whole`. Each state is asked for once, in the order of the list.
  /// Collective; allocates nothing.
  void gather(std::size_t k, void* whole, const Deadline& deadline);
  /// With the communicator's deadline for each batch.
  void gather(std::size_t k, void* whole);

 private:
  StatePieces slices() const;
  std::vector<StatePiece> boxes(const StoredState& state, const Parts& parts) const;
  /// How many bytes of a state a rank has.
  std::int64_t bytes_of(const StoredState& state, std::int32_t rank) const;
  /// How many bytes of state k travel; 0 = every rank has all of it.
  std::int64_t travelling(std::size_t k) const;
  void make_room();
  /// The end of the batch that begins with state k.
  std::size_t batch_end(std::size_t k) const;
  void bring(std::size_t begin, std::size_t end, const Deadline& deadline);

  SteppedModel& model_;
  std::vector<StoredState> states_;
  Communicator* comm_ = nullptr;  // NULL: nothing travels
  StatePieces pieces_;
  std::size_t end_ = 0;                   // of the present batch
  std::vector<std::int64_t> rank_bytes_;  // by rank, of the batch
  std::vector<std::int64_t> places_;      // by rank: of the next state's part in received_
  // On the host.
  Buffer own_;
  Buffer received_;  // one rank's parts after the other's
};

}  // namespace gradstep
