// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Queues of work that take turns by chance, as a device's streams may: work waits until a thread waits for it, and only
// points that it must wait for say something about the order between queues. A thread that waits does the work.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "detached/closed_memory.h"

namespace gradstep::test {

class WorkQueues {
 public:
  class Line;

  /// A place in a line: after everything that had been put there. A default one has been reached.
  struct Point {
    const Line* line = nullptr;
    std::int64_t place = 0;
  };

  class Line {
   public:
    bool is_empty() const { return pending_.empty(); }

   private:
    friend class WorkQueues;
    struct Work {
      std::function<void()> work;
      Point after;
      std::function<bool()> ready;
    };

    std::int64_t done() const { return asked_ - static_cast<std::int64_t>(pending_.size()); }

    std::deque<Work> pending_;
    std::int64_t asked_ = 0;
    std::thread::id asker_;
    std::exception_ptr failure_;
  };

  /// `memory` is open while work is done.
  WorkQueues(ClosedMemory& memory, std::uint64_t seed) : memory_(memory), random_(seed) {}

  /// It stays as long as this.
  Line& add();
  /// `work` comes after what is in the line, and after `after`.
  void put(Line& line, std::function<void()> work, Point after) { put(line, std::move(work), after, nullptr); }
  /// `work` begins when `ready` says so, which is asked when its turn has come, and often; empty = at once.
  void put(Line& line, std::function<void()> work, Point after, std::function<bool()> ready);
  void put(Line& line, std::function<void()> work) { put(line, std::move(work), Point{}); }
  Point end_of(const Line& line) const;
  bool is_reached(Point point) const;
  /// Does one piece of any line that is ready, if there is one.
  bool do_one();
  /// Is there work whose turn has come and that is not ready? Another thread may change that.
  bool is_held() const;
  /// Has all been done, of lines that the calling thread was the last to put work into?
  bool is_done_for_this_thread() const;
  /// For threads that wait by do_one().
  void count_wait() { ++waits_; }

  // Waiting does work until there is nothing left to wait for; the first rethrows what the line's work threw, once.
  void finish(Line& line);
  void reach(Point point);
  void finish_all();
  /// Forgets what has not been done.
  void drop_all();

  /// How many pieces of work have been done, and how often a thread has waited.
  std::int64_t done() const { return done_; }
  std::int64_t waits() const { return waits_; }
  void set_seed(std::uint64_t seed) { random_.seed(seed); }
  std::uint64_t random() { return random_(); }

 private:
  void work_until(const std::function<bool()>& reached);

  ClosedMemory& memory_;
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<Line>> lines_;
  std::atomic<std::int64_t> done_{0};
  std::atomic<std::int64_t> waits_{0};
  mutable std::recursive_mutex mutex_;  // ranks of one process share a device; work never waits for a rank
};

}  // namespace gradstep::test
