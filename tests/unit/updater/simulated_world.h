// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Ranks that run one at a time, in an order that a seed decides, over channels that fail at a chosen call: what goes
// wrong between ranks can be repeated.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <vector>

#include "comm/communicators.h"

namespace gradstep::test {

/// Each rank is a thread, and one has the turn. It gives it away where it waits, and by chance where it could go on.
class Turns {
 public:
  Turns(std::int32_t ranks, std::uint32_t seed);

  /// Runs body(rank) for every rank, and returns when all have ended.
  void run(const std::function<void(std::int32_t rank)>& body);
  /// Gives the turn away until `ready` holds, if it does not. False if no rank could ever go on.
  bool wait(std::int32_t rank, std::function<bool()> ready);
  void yield(std::int32_t rank);
  bool coin() { return (random_() & 1U) != 0; }
  /// Every rank waited for another one.
  bool stuck() const { return stuck_; }

 private:
  struct Seat {
    std::condition_variable turned;
    std::function<bool()> ready;  // none = it can go on
    bool ended = false;
  };

  bool give_away(std::int32_t rank, std::function<bool()> ready);
  void pass();
  void take(std::int32_t rank, std::unique_lock<std::mutex>& lock);

  std::mt19937 random_;
  std::mutex mutex_;
  std::vector<Seat> seats_;
  std::int32_t current_ = -1;
  bool stuck_ = false;
};

/// What goes wrong: one call of one rank.
struct Fault {
  enum class Moment : std::uint8_t {
    before,     ///< nothing of the call has left the rank
    after,      ///< everything has, and peers that wait for nothing else succeed
    for_others  ///< the same, but peers that have not yet been served fail as well
  };
  std::int32_t rank = -1;
  std::int64_t call = 0;  ///< counted from arm() on, or from the next generation on
  Moment moment = Moment::before;
  bool dies = false;         ///< the rank is gone for good; else only its channel is
  bool in_recovery = false;  ///< what `call` is counted from
};

/// Ranks connect in generations: all that live make a new one when each of them has asked for it.
class SimulatedWorld {
 public:
  /// `pairs`: channels also send and receive; else they gather, and no more.
  SimulatedWorld(std::int32_t ranks, std::uint32_t seed, bool pairs, std::vector<Fault> faults);
  ~SimulatedWorld();
  SimulatedWorld(const SimulatedWorld&) = delete;
  SimulatedWorld& operator=(const SimulatedWorld&) = delete;

  Turns& turns() { return turns_; }

  /// Every rank calls it, and its calls are counted from there on.
  void arm(std::int32_t rank);
  /// As arm(), without waiting for the others.
  void count_calls(std::int32_t rank) { calls_[static_cast<std::size_t>(rank)] = 0; }
  /// How many faults have struck.
  std::size_t struck() const { return struck_; }

  /// Leaves the channel that the rank has, unless `keeps` it beside, and returns with a new one when all that live have
  /// asked for it.
  std::shared_ptr<Communicator> connect(std::int32_t rank, const std::shared_ptr<Context>& context, bool keeps = false);
  /// Does another rank wait in connect()?
  bool is_connecting() const;
  /// This rank is done. False when all are; true if one of them wants to connect again.
  bool finish(std::int32_t rank);
  void leave(std::int32_t rank) { lives_[static_cast<std::size_t>(rank)] = false; }
  /// It is to connect next; until then no rank waits for it.
  void join(std::int32_t rank) {
    lives_[static_cast<std::size_t>(rank)] = true;
    finished_[static_cast<std::size_t>(rank)] = true;
  }
  bool lives(std::int32_t rank) const { return lives_[static_cast<std::size_t>(rank)]; }
  /// In order: the ranks of the newest generation.
  const std::vector<std::int32_t>& members() const { return members_; }
  std::int64_t generation() const { return generation_; }

 private:
  struct Channel;
  struct Seat;
  static gradstep_status all_gather(void* user, const void* send, void* receive, std::int64_t bytes, void* stream,
                                    std::int64_t timeout_ms);
  static gradstep_status send(void* user, const void* data, std::int64_t bytes, std::int32_t to, void* stream,
                              std::int64_t timeout_ms);
  static gradstep_status recv(void* user, void* data, std::int64_t bytes, std::int32_t from, void* stream,
                              std::int64_t timeout_ms);

  const Fault* strikes(std::int32_t rank);

  Turns turns_;
  bool pairs_;
  std::vector<Fault> faults_;
  std::size_t struck_ = 0;
  std::size_t armed_ = 0;                     // how many ranks are
  std::vector<std::int64_t> calls_;           // by rank, since arm(); -1 before
  std::vector<std::int64_t> recovery_calls_;  // by rank, since the second generation
  std::vector<bool> lives_;
  std::vector<bool> connecting_;
  std::vector<bool> finished_;
  std::int64_t generation_ = 0;
  std::vector<std::int32_t> members_;
  std::shared_ptr<Channel> channel_;  // of the newest generation
};

}  // namespace gradstep::test
