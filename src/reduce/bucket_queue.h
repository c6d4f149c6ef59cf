// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Buckets leave in their order, over one channel or several: on the channels' progress threads while the host computes,
// or on the host's thread where that is not possible. Bucket b goes over channel b modulo their number, so that ranks
// agree; buckets of several channels are under way at once. In windows whose gradients are all there at once buckets of
// a channel may leave together, in common rounds.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comm/communicator.h"
#include "core/deadline.h"
#include "core/fork_generation.h"
#include "core/fork_safe.h"
#include "gradstep/base.h"
#include "reduce/bucket.h"

namespace gradstep {

class BucketQueue {
 public:
  /// `buckets` outlives it, and is complete; bucket b exchanges over channels[b modulo their number]. `overlaps`:
  /// exchanges run on the channels' progress threads, which comm->overlaps() allows; several channels need it.
  BucketQueue(std::vector<std::shared_ptr<Communicator>> channels, const Buckets& buckets, bool overlaps);
  /// As halt(). In a forked child nothing is running.
  ~BucketQueue();
  BucketQueue(const BucketQueue&) = delete;
  BucketQueue& operator=(const BucketQueue&) = delete;

  /// A new window, of these buckets. Nothing of the last one is running. `together`, alike on all ranks: buckets of one
  /// channel with small messages leave when the last of them may. `control`, unless NULL, is complete when the last
  /// bucket may leave, and may be exchanged with it; it outlives the window.
  void open(BucketRange range, bool together, ControlRound* control);
  /// No exchange that begins in this window from now on outlives `deadline`.
  void limit(const Deadline& deadline);
  /// The buckets before `end` are full. Lets them leave and returns at once; where the channel does not overlap, when
  /// they are exchanged, by `deadline`. Throws the window's error.
  void let_leave(std::size_t end, const Deadline& deadline);
  /// let_leave(), and returns when all are exchanged, by `deadline`.
  void exchange_all(std::size_t end, const Deadline& deadline);
  /// Waits until at most `most` of the buckets that may leave are not exchanged, or until no more are. Not where they
  /// leave together.
  void wait_for_room(std::size_t most);
  /// Throws the window's error if it is known by now, and no more buckets can leave. With several channels a failure
  /// that all ranks share, and that leaves their channels whole, is known at the end of the window.
  void check() const;
  /// Nothing is being exchanged. A failure is the end of its window.
  bool is_idle() const;
  /// Would a peer that has done the same wait for this rank's next bucket?
  bool has_left() const;
  /// Drops what has not begun. Aborts the channels if an exchange is in progress. Nothing runs afterwards.
  void halt() noexcept;
  /// Aborts the channels: peers get an error.
  void abort() noexcept;

  /// How long the host's thread has waited for the exchanges of a bucket since creation.
  std::int64_t waited_nanoseconds(std::size_t bucket) const;

 private:
  using Clock = std::chrono::steady_clock;

  /// A channel and the buckets that go over it.
  struct Track {
    std::shared_ptr<Communicator> comm;
    std::size_t next = 0;  ///< the first of its buckets that is not exchanged, and of those that leave together
    bool serving = false;  ///< by the progress thread; otherwise there is nothing to do
  };

  bool start_serving(Track& track);
  void serve(Track& track) noexcept;
  void wait_for_served();
  void exchange_here(std::size_t end, const Deadline& deadline);
  bool is_serving() const;
  bool has_stopped() const;
  void throw_failure() const;
  void keep_error(Track& track) noexcept;
  std::size_t last_with(std::size_t bucket) const;
  bool may_leave(const Track& track) const { return track.next < range_.end && last_with_[track.next] < full_; }
  void exchange(std::size_t first, std::size_t last, const Deadline& deadline);
  void leave(Track& track);
  void count_wait(std::size_t first, Clock::duration waited);

  std::vector<Track> tracks_;
  const Buckets& buckets_;
  const std::uint32_t fork_generation_ = fork_generation();
  bool overlaps_;
  std::vector<Clock::duration> waited_;  // by bucket
  BucketRange range_;                    // of this window
  ControlRound* control_ = nullptr;      // of this window
  std::vector<std::size_t> last_with_;   // by bucket: the last that leaves with it, in this window

  ForkSafe<std::condition_variable> exchanged_{std::in_place};  // full_, done_ or a failure has changed
  mutable std::mutex mutex_;              // guards all below, and what tracks have, while progress threads serve
  std::size_t full_ = 0;                  // buckets before it may leave
  std::size_t done_ = 0;                  // the first of the window, and how many are exchanged
  std::optional<Deadline> limit_;         // of exchanges that progress threads begin; else as long as any call
  std::vector<Clock::time_point> ended_;  // by bucket; of those that left together the first alone
  gradstep_status failure_ = GRADSTEP_OK;
  std::string failure_text_;
  bool is_broken_ = false;  // by the failure: no channel is of use any more
};

}  // namespace gradstep
