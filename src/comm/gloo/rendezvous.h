// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// How ranks tell each other their addresses through a store.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/plugin.h"
#include "core/deadline.h"

namespace gradstep::gloo_plugin {

/// Where this rank stands, and what it wants all to agree on.
struct Place {
  std::int32_t rank = 0;
  std::int32_t world_size = 1;
  std::int32_t reduction_order = 0;
};

class Rendezvous {
 public:
  /// Borrows the store.
  Rendezvous(const gradstep_store& store, const Place& place);

  /// Gives `own` (own[p] is this rank's address for peer p, all of one length) and returns, for each p, p's address for
  /// this rank. Throws TIMEOUT if a rank does not come, MISMATCH if one disagrees.
  std::vector<std::vector<char>> meet(const std::vector<std::vector<char>>& own, const Deadline& deadline);

  /// To be called while connecting: throws PEER_LOST if a rank has started anew since they met, and what the store
  /// throws. Looks at one rank each time.
  void poll();

 private:
  struct Peer {
    std::uint64_t nonce = 0;
    std::vector<char> address;
  };

  void publish(const std::vector<std::vector<char>>& own);
  /// Reads what rank `peer` has published; true if that is news.
  bool read(std::int32_t peer, std::int64_t timeout_ms);
  void acknowledge();
  bool acknowledged_by(std::int32_t peer, const Deadline& deadline);

  std::size_t get(const char* kind, std::int32_t rank, std::int64_t timeout_ms);
  void set(const char* kind, const std::vector<char>& value);

  const gradstep_store& store_;
  Place place_;
  std::uint64_t nonce_ = 0;
  std::vector<Peer> peers_;
  std::vector<char> value_;  // what get() has read
  std::int32_t next_polled_ = 0;
};

}  // namespace gradstep::gloo_plugin
