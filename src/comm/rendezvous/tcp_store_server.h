// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The small key-value store behind gradstep_comm_unique_id, and behind the ranks that a launcher has started.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>

#include "comm/rendezvous/tcp_store.h"
#include "core/file_descriptor.h"

namespace gradstep {

/// How long a store waits for those who have its token, and how much of the process the others may take. Strangers are
/// connections that have not shown the token (yet).
struct StoreLimits {
  std::chrono::milliseconds patience = std::chrono::minutes(10);
  std::chrono::milliseconds hello = std::chrono::seconds(5);  // for which a stranger may stay one
  std::size_t strangers = 0;  // at once; 0 = a sixteenth of the process's descriptors, from 4 to 64
};

/// What a store that serves tells the process it is in. Any thread.
class StoreVisitors {
 public:
  /// The address of this machine at which a rank of another one has called; nullopt = none has.
  std::optional<NetworkAddress> reached_at() const;
  std::set<std::uint32_t> ranks() const;
  void add(std::uint32_t rank, const NetworkAddress& at);

 private:
  mutable std::mutex mutex_;
  std::optional<NetworkAddress> reached_at_;
  std::set<std::uint32_t> ranks_;
};

/// Serves a new store for those who have the token, as start_tcp_store() does; `visitors` lives as long as it serves.
void serve_tcp_store(FileDescriptor listener, const tcp_store::Token& token, const StoreLimits& limits,
                     std::shared_ptr<StoreVisitors> visitors);

/// Serves a new store on a thread of its own until every rank has connected and left, or no member used it for
/// `patience`. `network_interface` as in own_address(). Throws INVALID_ARGUMENT or IO.
tcp_store::Id start_tcp_store(const char* network_interface, const StoreLimits& limits = {});

}  // namespace gradstep
