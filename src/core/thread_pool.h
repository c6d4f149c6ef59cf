// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A small pool for data-parallel loops. Results never depend on it: bodies write to places of their own.
#pragma once

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <vector>

#include "core/fork_safe.h"
#include "core/function_ref.h"

namespace gradstep {

class ThreadPool {
 public:
  /// `threads` counts the caller. Threads start at the first parallel run.
  explicit ThreadPool(int threads) : threads_(threads) {}
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }

  /// body(i) for every i in [0, n); the first exception is rethrown when all have ended. Runs on the caller alone while
  /// another thread is using the pool, and with fewer threads if the system has no more. Throws nothing of its own.
  void run(std::int64_t n, FunctionRef<void(std::int64_t)> body);

 private:
  struct Job {
    FunctionRef<void(std::int64_t)> body;
    std::int64_t n;
    std::int64_t grain;
    std::atomic<std::int64_t> next{0};
    std::mutex error_mutex;
    std::exception_ptr error;
  };

  void start_threads() noexcept;
  void work();
  static void drain(Job& job);

  const int threads_;
  std::uint32_t fork_generation_ = 0;
  std::vector<pthread_t> workers_;

  std::mutex run_mutex_;  // held by the thread whose job the workers serve
  struct Signals {
    std::condition_variable wake;
    std::condition_variable done;
  };
  std::mutex mutex_;
  ForkSafe<Signals> signals_{std::in_place};  // the workers wait on them at the time of a fork
  Job* job_ = nullptr;
  std::uint64_t round_ = 0;
  std::uint64_t rounds_before_ = 0;  // when the newest workers were started
  std::size_t active_ = 0;
  bool stopping_ = false;
};

/// Starts a thread with all signals blocked. False when the system has none.
bool try_start_thread(void* (*entry)(void*), void* argument, pthread_t& thread) noexcept;
/// Throws OUT_OF_MEMORY when the system has none.
pthread_t start_thread(void* (*entry)(void*), void* argument);

}  // namespace gradstep
