// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The engines whose ranks meet in a store.
#pragma once

#include <memory>
#include <string>

#include "backend/context.h"
#include "comm/engine.h"
#include "comm/rendezvous/store.h"
#include "core/deadline.h"

namespace gradstep {

inline constexpr std::int32_t kMaxShmRanks = 256;
inline constexpr std::int32_t kMaxGlooRanks = 4096;

/// Where the ranks of engine auto meet again, by the engine that they have chosen. They meet first where those of all
/// other engines do, so that ranks that were given different engines see each other.
inline constexpr const char* kChosenRoom = "auto/";

/// `room`: as of a Rendezvous.
std::shared_ptr<Engine> connect_shm(Store& store, const Context& context, const gradstep_comm_options& options,
                                    const std::string& room, const Deadline& deadline);
std::shared_ptr<Engine> connect_gloo(Store& store, const Context& context, const gradstep_comm_options& options,
                                     const std::string& room, const Deadline& deadline);

}  // namespace gradstep
