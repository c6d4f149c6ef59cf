// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs calls that wait for peers, for a thread that must stay able to poll the host's interrupt or that has something
// else to do.
#pragma once

#include <pthread.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>

#include "core/fork_safe.h"
#include "core/function_ref.h"
#include "gradstep/base.h"

namespace gradstep {

/// One job at a time, from one thread at a time.
class ProgressThread {
 public:
  ProgressThread() = default;
  /// Joins; nothing is running then. In a forked child there is no thread to join.
  ~ProgressThread();
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

  /// Hands `job` to the thread, which starts at the first call. Waits for an earlier job.
  void start(std::function<void()> job);
  /// Returns when the job has ended; an exception of it is rethrown as an Error. `poll` runs on the caller at least
  /// every kInterruptPoll until then, and throws nothing: the job may work on what the caller would unwind.
  void finish(FunctionRef<void()> poll);
  /// Both.
  void run(FunctionRef<void()> job, FunctionRef<void()> poll);

 private:
  struct Shared {
    std::mutex mutex;
    std::condition_variable wake;
    std::condition_variable done;
    std::function<void()> job;  // guarded by mutex, as all below; empty when the job has ended
    gradstep_status failure = GRADSTEP_OK;
    std::string text;
    bool stopping = false;

    void serve();
  };

  ForkSafe<Shared> shared_{std::in_place};
  pthread_t thread_{};
  bool started_ = false;
};

}  // namespace gradstep
