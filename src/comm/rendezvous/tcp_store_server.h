// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The small key-value store behind gradstep_comm_unique_id.
#pragma once

#include <chrono>
#include <cstddef>

#include "comm/rendezvous/tcp_store.h"

namespace gradstep {

/// How long a store waits for those who have its token, and how much of the process the others may take. Strangers are
/// connections that have not shown the token (yet).
struct StoreLimits {
  std::chrono::milliseconds patience = std::chrono::minutes(10);
  std::chrono::milliseconds hello = std::chrono::seconds(5);  // for which a stranger may stay one
  std::size_t strangers = 0;  // at once; 0 = a sixteenth of the process's descriptors, from 4 to 64
};

/// Serves a new store on a thread of its own until every rank has connected and left, or no member used it for
/// `patience`. `network_interface` as in own_address(). Throws INVALID_ARGUMENT or IO.
tcp_store::Id start_tcp_store(const char* network_interface, const StoreLimits& limits = {});

}  // namespace gradstep
