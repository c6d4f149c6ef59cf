// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What ranks must have in common before they begin something together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "comm/communicator.h"

namespace gradstep {

/// Collective. Throws MISMATCH, on all ranks alike, where a number of `own` is not rank 0's: what(i) says in words what
/// number i stands for. All ranks give as many.
void compare_ranks(Communicator& comm, std::span<const std::uint64_t> own, const char* (*what)(std::size_t),
                   const Deadline& deadline);

}  // namespace gradstep
