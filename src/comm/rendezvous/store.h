// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Key-value stores through which ranks find each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "comm/rendezvous/network_address.h"
#include "core/deadline.h"
#include "gradstep/comm.h"

namespace gradstep {

namespace tcp_store {
struct Id;
}

class Store {
 public:
  virtual ~Store() = default;

  /// A later set of the same key replaces the value.
  virtual void set(const std::string& key, const void* data, std::size_t length) = 0;

  /// Waits for the key; false = not until the deadline. `length` is data's capacity, then the value's length. Throws
  /// INVALID_ARGUMENT if the value does not fit.
  virtual bool get(const std::string& key, void* data, std::size_t& length, const Deadline& deadline) = 0;

  /// The address of this machine from which it reaches the store, where that is over the network.
  virtual std::optional<NetworkAddress> reached_from() const { return std::nullopt; }

  /// " (...)" for a message that says who did not come; "" = there is nothing to add.
  virtual std::string about() const { return {}; }
};

/// Files in a directory that all ranks share; made if it does not exist. Throws IO.
std::unique_ptr<Store> open_directory_store(const std::string& path);

/// The host's functions. Throws INVALID_ARGUMENT.
std::unique_ptr<Store> wrap_host_store(const gradstep_store& store);

/// The server behind the bytes of gradstep_comm_unique_id. Throws INVALID_ARGUMENT, TIMEOUT or IO.
std::unique_ptr<Store> connect_tcp_store(const void* id, std::size_t id_length, std::int32_t rank,
                                         std::int32_t world_size, const Deadline& deadline);

/// One call to such a server, which must answer by `attempt`. Throws TIMEOUT or IO.
std::unique_ptr<Store> try_tcp_store(const tcp_store::Id& id, std::int32_t rank, std::int32_t world_size,
                                     const Deadline& attempt, const Deadline& deadline);

}  // namespace gradstep
