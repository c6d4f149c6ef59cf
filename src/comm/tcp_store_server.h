// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The small key-value store behind gradstep_comm_unique_id.
#pragma once

#include <chrono>

#include "comm/tcp_store.h"

namespace gradstep {

/// Serves a new store on a thread of its own until every rank has connected and left, or nobody used it for `patience`.
/// `interface` as in own_address(). Throws INVALID_ARGUMENT or IO.
tcp_store::Id start_tcp_store(const char* interface, std::chrono::milliseconds patience = std::chrono::minutes(10));

}  // namespace gradstep
