// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Ranks that are processes of one host meet here: messages go through the rings of a shared segment.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "comm/call.h"
#include "comm/engines/peer_processes.h"
#include "comm/engines/shared_segment.h"
#include "core/deadline.h"
#include "core/function_ref.h"

namespace gradstep {

/// One rank's end. Every call throws TIMEOUT at its deadline, ABORTED after this rank's abort, PEER_LOST when a rank it
/// needs has died, aborted or left, and MISMATCH when ranks disagree about bytes; the group is of no use then. One call
/// at a time, except abort(). Only the caller writes to its buffers, and what was read from them is not used after the
/// call.
class SharedGroup {
 public:
  SharedGroup(SharedSegment segment, std::int32_t rank, std::int32_t world_size,
              std::shared_ptr<const PeerProcesses> processes);
  ~SharedGroup();
  SharedGroup(const SharedGroup&) = delete;
  SharedGroup& operator=(const SharedGroup&) = delete;

  std::int32_t rank() const { return rank_; }
  std::int32_t world_size() const { return world_size_; }

  /// Takes this rank's seat and waits for the others to take theirs; no rank can enter after that. `poll` runs every
  /// few milliseconds and ends the wait by throwing.
  void take_seat(FunctionRef<void()> poll, const Deadline& deadline);

  /// As gradstep_comm_vtable::exchange.
  void exchange(const void* const* send, const std::int64_t* send_bytes, void* const* receive,
                const std::int64_t* receive_bytes, const Deadline& deadline);
  void send(const void* data, std::int64_t bytes, std::int32_t to, const Deadline& deadline);
  void recv(void* data, std::int64_t bytes, std::int32_t from, const Deadline& deadline);
  void send_recv(const void* send, std::int64_t send_bytes, std::int32_t to, void* receive, std::int64_t receive_bytes,
                 std::int32_t from, const Deadline& deadline);
  /// A second group of the same ranks (collective).
  std::unique_ptr<SharedGroup> dup(const Deadline& deadline);
  /// A group of the ranks `members`, of which this one is one, in their order (collective among them).
  std::unique_ptr<SharedGroup> split(std::span<const std::int32_t> members, const Deadline& deadline);

  /// What this rank says with its messages; the others compare it with theirs.
  void carry(Said* said) { said_ = said; }

  void abort() noexcept;

 private:
  enum class Progress : std::uint8_t { none, some, done };

  /// A message on its way, to or from one peer.
  struct Transfer {
    std::byte* data = nullptr;  // what is left of it
    std::int64_t left = 0;
    std::int64_t bytes = 0;
    bool announced = false;    // its length has gone before it
    std::uint64_t source = 0;  // incoming: where the rest lies in the sender's memory; 0 = in the ring
    std::uint64_t ticket = 0;  // outgoing: how many the receiver has fetched when it has this one; 0 = through the ring
    bool under_way() const { return bytes > 0; }
  };

  void offer_to_fetch();
  void start_sending(std::int32_t to, const void* data, std::int64_t bytes);
  void start_receiving(std::int32_t from, void* data, std::int64_t bytes);
  void finish_transfers(const Deadline& deadline);
  Progress move_all();
  bool push(std::int32_t to);
  bool announce(Transfer& message, std::int32_t to);
  bool pull(std::int32_t from);
  bool hear_of(Transfer& message, std::int32_t from);
  void fetch(Transfer& message, std::int32_t from);

  /// Takes steps until one says done. `needs(r)`: whether the wait is for rank r.
  void wait(FunctionRef<Progress()> step, FunctionRef<bool(std::int32_t)> needs, FunctionRef<void()> poll,
            const Deadline& deadline);
  Progress spin(FunctionRef<Progress()> step) const;
  Progress sleep(FunctionRef<Progress()> step, FunctionRef<bool(std::int32_t)> needs, FunctionRef<void()> poll,
                 const Deadline& deadline);
  std::int32_t lost_rank(FunctionRef<bool(std::int32_t)> needs) const;
  void look_for_dead(FunctionRef<bool(std::int32_t)> needs);
  [[noreturn]] void fail_for(std::int32_t lost) const;
  void leave_as(Seat::State state) noexcept;

  [[noreturn]] void fail_late(FunctionRef<bool(std::int32_t)> needs) const;

  bool is_aborted() const {
    const std::uint32_t state = seat(rank_).state.load();
    return state == Seat::aborted || state == Seat::disagreed;
  }
  Seat& seat(std::int32_t rank) const { return segment_.seat(rank); }

  SharedSegment segment_;
  std::int32_t rank_;
  std::int32_t world_size_;
  std::shared_ptr<const PeerProcesses> processes_;
  bool crowded_;  // more ranks than processors
  std::uint32_t fork_generation_;
  Said silent_;
  Said* said_ = &silent_;
  std::vector<Transfer> outgoing_;  // one per peer
  std::vector<Transfer> incoming_;
  std::vector<std::uint64_t> offered_;  // messages that each peer was to fetch
};

}  // namespace gradstep
