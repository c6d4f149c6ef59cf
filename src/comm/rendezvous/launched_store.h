// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The store through which the ranks that a launcher has started meet.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "comm/rendezvous/launch.h"
#include "comm/rendezvous/store.h"
#include "core/deadline.h"

namespace gradstep {

/// How often this process has looked for its peers before, counted by this call: all ranks do that in one order.
std::int64_t next_launched_call();

/// In this order: the folder `GRADSTEP_STORE`/connect.<job>.<call>; on one machine a store of rank 0's at a local
/// socket that answers this user alone; else one of rank 0's at meeting_point(). `poll` is asked meanwhile, and throws
/// to end the wait. Throws INVALID_ARGUMENT, TIMEOUT or IO (the place is taken).
std::unique_ptr<Store> open_launched_store(const Launch& launch, Environment environment, std::int64_t call,
                                           const Deadline& deadline, FunctionRef<void()> poll);

}  // namespace gradstep
