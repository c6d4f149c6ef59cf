// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// How ranks that are processes find each other: they swap addresses through a store.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/context.h"
#include "backend/plugin.h"
#include "comm/rendezvous/launch.h"
#include "comm/rendezvous/store.h"
#include "core/deadline.h"

namespace gradstep {

/// The store that the options name. Throws INVALID_ARGUMENT unless they have a rank of a world of at most `max_ranks`,
/// and exactly one of id, store and store_path; or none where there is a `launch`, whose ranks then meet by
/// open_launched_store().
std::unique_ptr<Store> open_store(const gradstep_comm_options& options, std::int32_t max_ranks,
                                  const Deadline& deadline, const Launch* launch, FunctionRef<void()> poll);

/// How many of the ranks from `first` on wait at the rendezvous that the options name: they have come, and have not
/// given up. Waits for none of them.
std::int32_t count_waiting(Store& store, const gradstep_comm_options& options, std::int32_t first);

class Rendezvous {
 public:
  /// `engine`: all ranks must come with the same. `room`: where several rendezvous of one generation go through the
  /// store, what tells their keys apart. Borrows the store and the context, whose interrupt is polled in all waits
  /// (they then throw ABORTED).
  Rendezvous(Store& store, const Context& context, std::string_view engine, const gradstep_comm_options& options,
             std::string room = {});

  /// Gives `own`: one address of `length` bytes for each rank. Returns those of the others in their places: the
  /// address of each for this rank. Throws TIMEOUT if a rank does not come, MISMATCH if one disagrees.
  std::vector<char> meet(std::span<const char> own, std::size_t length, const Deadline& deadline);

  /// Whether all ranks have come, and have each other's addresses.
  bool has_met() const { return has_met_; }

  /// To be called while connecting: throws PEER_LOST if a rank has started anew since they met, ABORTED by the
  /// interrupt, and what the store throws. Looks at one rank each time.
  void poll();

  /// This rendezvous as the plugin border knows it.
  gradstep_plugin_rendezvous loan();

 private:
  struct Peer {
    std::uint64_t nonce = 0;
    std::vector<char> address;
  };

  void publish(std::span<const char> own);
  /// Peers are to wait for this rank no more.
  void withdraw() noexcept;
  void find_peers(const Deadline& deadline);
  /// Waits for what rank `peer` has published; true if that is news.
  bool read(std::int32_t peer, const Deadline& deadline);
  /// Takes `length` bytes of value_ for what the peer has said.
  bool take(std::int32_t peer, std::size_t length);
  void acknowledge();
  bool acknowledged_by(std::int32_t peer, const Deadline& deadline);

  std::string key(const char* kind, std::int32_t rank) const;
  std::size_t get(const char* kind, std::int32_t rank, const Deadline& deadline);
  /// False if it is not there until the deadline.
  bool find(const char* kind, std::int32_t rank, std::size_t& length, const Deadline& deadline);
  /// Asks the host, but not more often than it has to be asked.
  void poll_interrupt();
  void set(const char* kind, const std::vector<char>& value);

  Store& store_;
  const Context& context_;
  std::uint64_t engine_;  // a hash of its name
  std::int32_t rank_;
  std::int32_t world_size_;
  std::int32_t reduction_order_;
  std::int64_t generation_;
  std::string room_;
  std::uint64_t nonce_ = 0;
  std::size_t address_length_ = 0;
  std::vector<Peer> peers_;
  std::vector<char> value_;  // what was read
  Deadline interrupt_due_ = Deadline::after_ms(0);
  std::int32_t next_polled_ = 0;
  bool has_met_ = false;
};

}  // namespace gradstep
