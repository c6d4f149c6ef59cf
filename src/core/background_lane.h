// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Threads of low priority for work whose results are wanted later. They only take what would otherwise be idle time:
// a thread that needs a result does what is left of the work itself.
#pragma once

#include <pthread.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "core/fork_safe.h"

namespace gradstep {

/// Tasks [0, n), each done once, by whichever thread claims it first.
class BackgroundJob {
 public:
  /// A task that throws counts as done; its body must leave word of that where its owner looks.
  BackgroundJob(std::int64_t n, std::function<void(std::int64_t)> body);

  /// Does the next unclaimed task. False if there is none.
  bool run_one();
  /// Returns when all claimed tasks are done.
  void wait();
  /// Leaves unclaimed tasks undone and waits for the others; in a forked child, for none.
  void cancel();

 private:
  struct Signals {
    std::mutex mutex;
    std::condition_variable done;
  };

  std::function<void(std::int64_t)> body_;
  std::int64_t n_;
  std::int64_t next_ = 0;
  std::int64_t running_ = 0;
  ForkSafe<Signals> signals_{std::in_place};
};

class BackgroundLane {
 public:
  /// Threads start with the first job. With none, jobs wait for their owners.
  explicit BackgroundLane(int threads) : threads_(threads) {}
  /// Drops the jobs that have not begun.
  ~BackgroundLane();
  BackgroundLane(const BackgroundLane&) = delete;
  BackgroundLane& operator=(const BackgroundLane&) = delete;

  int threads() const { return threads_; }
  /// Jobs are taken up in the order of their arrival, by as many threads as the system has; where it has none, jobs
  /// wait for their owners. Throws bad_alloc, and then has not taken the job.
  void submit(std::shared_ptr<BackgroundJob> job);

 private:
  struct Signals {
    std::mutex mutex;
    std::condition_variable wake;
  };

  void start_threads();
  void work();

  const int threads_;
  std::vector<pthread_t> workers_;
  std::deque<std::shared_ptr<BackgroundJob>> jobs_;
  bool stopping_ = false;
  ForkSafe<Signals> signals_{std::in_place};
};

}  // namespace gradstep
