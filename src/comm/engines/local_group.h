// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Ranks that are threads of one process meet here: they publish the addresses of their buffers and copy from each
// other, once.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "comm/call.h"
#include "core/deadline.h"
#include "core/function_ref.h"
#include "gradstep/base.h"

namespace gradstep {

/// Every waiting call throws TIMEOUT at its deadline, ABORTED after this rank's abort, PEER_LOST when a rank it needs
/// aborted or left, and MISMATCH when ranks disagree about bytes.
class LocalGroup {
 public:
  explicit LocalGroup(std::int32_t world_size);

  std::int32_t world_size() const { return static_cast<std::int32_t>(seats_.size()); }

  void all_gather(std::int32_t rank, const void* send, void* receive, std::int64_t bytes, const Deadline& deadline);
  void broadcast(std::int32_t rank, void* data, std::int64_t bytes, std::int32_t root, const Deadline& deadline);
  void barrier(std::int32_t rank, const Deadline& deadline);
  /// As gradstep_comm_vtable::exchange.
  void exchange(std::int32_t rank, const void* const* send, const std::int64_t* send_bytes, void* const* receive,
                const std::int64_t* receive_bytes, const Deadline& deadline);
  void send(std::int32_t rank, const void* data, std::int64_t bytes, std::int32_t to, const Deadline& deadline);
  void recv(std::int32_t rank, void* data, std::int64_t bytes, std::int32_t from, const Deadline& deadline);
  void send_recv(std::int32_t rank, const void* send, std::int64_t send_bytes, std::int32_t to, void* receive,
                 std::int64_t receive_bytes, std::int32_t from, const Deadline& deadline);
  /// A group of the same ranks, the same object for all of them.
  std::shared_ptr<LocalGroup> dup(std::int32_t rank, const Deadline& deadline);
  /// A group of the ranks `members`, the same object for all of them; NULL for a rank that gives none. All ranks call.
  std::shared_ptr<LocalGroup> split(std::int32_t rank, std::span<const std::int32_t> members, const Deadline& deadline);

  /// What `rank` says with its messages; others compare it with theirs.
  void carry(std::int32_t rank, Said* said);

  void abort(std::int32_t rank) noexcept;
  void leave(std::int32_t rank) noexcept;

 private:
  enum class Kind : std::uint8_t { all_gather, broadcast, exchange, barrier, dup, split };

  /// A message on its sender's stack, in its receiver's inbox until it is taken.
  struct Message {
    std::int32_t from;
    const void* data;
    std::int64_t bytes;
    std::uint64_t call;
    bool copying = false;
    bool done = false;
  };
  struct Seat {
    std::deque<Message*> inbox;
    std::condition_variable changed;
    bool left = false;
    bool aborted = false;
    Said* said = nullptr;
    std::uint64_t note = 0;  // as it was when the rank came to the round
    std::uint64_t call_code() const { return said == nullptr ? 0 : said->call; }
  };
  class Posted;

  void round(std::int32_t rank, Kind kind, std::int64_t bytes, const void* published, const Deadline& deadline,
             FunctionRef<void()> consume);
  /// The group that rank `maker` makes for `ranks` ranks; none of 0.
  std::shared_ptr<LocalGroup> share(std::int32_t rank, Kind kind, std::int32_t maker, std::size_t ranks,
                                    const Deadline& deadline);
  void take(std::unique_lock<std::mutex>& lock, std::int32_t rank, void* data, std::int64_t bytes, std::int32_t from,
            const Deadline& deadline);
  void check(std::int32_t rank, std::int32_t needed) const;
  void check_all(std::int32_t rank) const;
  [[noreturn]] void disagree(std::string text);
  std::string missing_ranks() const;
  Seat& seat(std::int32_t rank) { return seats_[static_cast<std::size_t>(rank)]; }
  const Seat& seat(std::int32_t rank) const { return seats_[static_cast<std::size_t>(rank)]; }
  void wake_all();

  std::mutex mutex_;  // guards all below
  std::vector<Seat> seats_;
  std::int32_t broken_by_ = -1;
  std::string disagreement_;  // empty, or why the ranks' calls do not fit

  // The round in progress. `published` holds still from the last arrival until every rank has consumed.
  std::vector<const void*> published_;
  std::vector<bool> arrived_ranks_;
  Kind kind_ = Kind::barrier;
  std::int64_t bytes_ = 0;
  std::uint64_t call_ = 0;
  std::int32_t first_ = 0;  // of the ranks: the one that has come first
  std::int32_t arrived_ = 0;
  std::int32_t consuming_ = 0;
  std::uint64_t ready_ = 0;     // rounds in which all have arrived
  std::uint64_t finished_ = 0;  // rounds that all have consumed
  std::condition_variable round_changed_;
};

}  // namespace gradstep
