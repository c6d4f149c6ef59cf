// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What ranks must have in common before they begin something together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "comm/communicator.h"
#include "core/function_ref.h"

namespace gradstep {

/// Collective. Throws MISMATCH, on all ranks alike, where a number of `own` is not rank 0's: what(i) says in words what
/// number i stands for. All ranks give as many.
void compare_ranks(Communicator& comm, std::span<const std::uint64_t> own, FunctionRef<std::string(std::size_t)> what,
                   const Deadline& deadline);

/// `room` has place for the numbers of all ranks. So no rank fails before they have met, for want of memory.
void compare_ranks(Communicator& comm, std::span<const std::uint64_t> own, FunctionRef<std::string(std::size_t)> what,
                   const Deadline& deadline, std::span<std::uint64_t> room);

}  // namespace gradstep
