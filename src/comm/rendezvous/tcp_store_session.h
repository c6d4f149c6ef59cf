// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The store's side of the conversation with one client, on bytes alone: what has come over the network goes in, what is
// to be sent comes out. The bytes may come from any host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "comm/rendezvous/tcp_store.h"
#include "core/deadline.h"

namespace gradstep::tcp_store {

/// What a store knows. Values are small and few, so everything stays.
struct Contents {
  Token token{};
  std::map<std::string, std::string> values;
  std::uint64_t sets = 0;         // so far
  std::set<std::uint32_t> ranks;  // that have ever come
  std::size_t world_size = 0;     // as the ranks say; 0 = none has come

  bool all_ranks_came() const { return world_size > 0 && ranks.size() == world_size; }
};

/// A client is a stranger until it has shown the token, then a member. Only the hello of a stranger is read. A
/// member is answered one request at a time, in order; what it sends meanwhile is kept up to the length of one request.
class Session {
 public:
  using Time = Deadline::Clock::time_point;

  explicit Session(Contents& contents) : contents_(contents) {}

  bool is_member() const { return member_; }
  /// As a member has said it.
  std::uint32_t rank() const { return rank_; }
  /// It has shown another token or broken the rules of tcp_store.h: it gets no answer, and nothing more is taken.
  bool is_broken() const { return broken_; }

  /// How many bytes it may send now.
  std::size_t room() const;
  /// Takes what it has sent, at most room() bytes.
  void receive(std::string_view bytes, Time now);

  /// Until when a get waits for its key.
  std::optional<Time> waits_until() const;
  /// To be called when keys may have come or time has passed: answers a waiting get, and goes on with what came after.
  void go_on(Time now);

  std::string_view unsent() const { return unsent_; }
  /// The first `bytes` of unsent() are on their way.
  void sent(std::size_t bytes, Time now);

 private:
  struct Get {
    std::string key;
    Time until;
  };

  bool take_hello();
  bool take_request(Time now);
  void answer_get(Time now);
  void reply(bool found, std::string_view value);

  Contents& contents_;
  bool member_ = false;
  std::uint32_t rank_ = 0;
  bool broken_ = false;
  std::string received_;  // not yet understood
  std::string unsent_;
  std::optional<Get> waiting_;
};

}  // namespace gradstep::tcp_store
