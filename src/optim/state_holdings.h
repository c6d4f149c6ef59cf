// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Which ranks of a new communicator have which parts of a state that other ranks shared before them.
#pragma once

#include <span>
#include <string>

#include "comm/communicator.h"
#include "core/deadline.h"
#include "core/schema.h"
#include "optim/state_gather.h"

namespace gradstep {

/// How the ranks of a new communicator deal out a state that some of them have.
struct Handover {
  std::int32_t root = 0;       ///< the rank whose step count, flags and options count
  std::int64_t steps = 0;      ///< of the root
  bool holds = false;          ///< what this rank has is of that step
  bool asks_peers = false;     ///< the ranks that shared the state are all there, in this communicator or leaving it
  bool has_receivers = false;  ///< some ranks have shared nothing
};

struct Holdings {
  StatePieces pieces;
  std::string missing;  ///< the first parts that no rank has, in words; empty = all is there
};

/// Collective; room is made before. `states`: this rank's, in an order that is the same on all ranks. Where several
/// ranks have a part, the lowest gives it.
Holdings find_holdings(Communicator& comm, const Schema& schema, std::span<const StoredState> states, bool holds,
                       const Deadline& deadline);

}  // namespace gradstep
