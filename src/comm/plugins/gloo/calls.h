// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What ranks say of their calls beside their messages. Before the bytes of a message go, libgloo announces the send to
// the receiver and the receive to the sender. Two words of an announcement mean nothing to libgloo: they carry the call
// and the note (comm/call.h), so that a comparison costs no message. A message that goes at once (see pairs.h) is its
// own announcement, and its receiver's message to the sender is the other.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "comm/call.h"

namespace gradstep::gloo_plugin {

/// One rank's side of the comparison. Any thread.
class Calls {
 public:
  /// A message's side, as this rank sees it.
  enum class Side : std::uint8_t { send, receive };

  struct Words {
    std::uint64_t call = 0;
    std::uint64_t note = 0;
  };

  /// Two ranks and what they call.
  struct Difference {
    std::int32_t peer = 0;
    std::uint64_t peers = 0;
    std::int32_t rank = 0;
    std::uint64_t own = 0;
  };

  Calls(std::int32_t rank, std::int32_t world_size) : rank_(rank), peers_(static_cast<std::size_t>(world_size)) {}

  /// `*said` is read at each post, by the thread that posts.
  void carry(Said* said) { said_ = said; }
  /// Runs once, at the first difference, on the thread that finds it.
  void set_alarm(std::function<void()> alarm);

  struct Posted {
    std::uint64_t number;  ///< of messages before, on that side
    std::uint64_t call;
  };
  /// This rank is about to send to `peer`, or to receive from it. `is_announced`: the peer announces its side.
  Posted post(Side side, std::int32_t peer, std::int64_t bytes, bool is_announced);
  /// `peer` announces the other side of a message.
  void hear(Side side, std::int32_t peer, std::int64_t bytes, const Words& words);
  /// The connection to `peer` is closed: what it has announced is not compared any more.
  void lose(std::int32_t peer);
  /// Another rank has found this difference.
  void hear_of(const Difference& difference);
  /// To be called after each message: tells `*said` whether a peer's note was another one.
  void finish();

  Words own() const;
  bool differ() const { return differ_.load(); }
  /// Where they differ.
  Difference difference() const;

 private:
  /// The messages of one side of a connection so far, and the last of them.
  struct Messages {
    std::uint64_t count = 0;
    std::int64_t bytes = 0;
    Words words;
  };
  struct Peer {
    std::array<Messages, 2> posted;  // here; by Side
    std::array<Messages, 2> heard;   // by the peer
    bool is_lost = false;
  };

  bool compare(const Peer& peer, Side side, std::int32_t rank);
  bool find(std::int32_t peer, std::uint64_t peers, std::uint64_t own);
  void sound_alarm();

  const std::int32_t rank_;
  Said* said_ = nullptr;
  mutable std::mutex mutex_;  // guards peers_, own_ and difference_
  std::vector<Peer> peers_;
  Words own_;
  Difference difference_;
  std::atomic<bool> differ_{false};
  std::atomic<bool> other_note_{false};
  std::mutex alarm_mutex_;  // guards alarm_
  std::function<void()> alarm_;
};

}  // namespace gradstep::gloo_plugin
