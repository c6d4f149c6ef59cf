// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "core/thread_pool.h"

#include <algorithm>

#include "core/error.h"
#include "core/fork_generation.h"
#include "core/fp_environment.h"
#include "core/platform/system.h"

namespace gradstep {

bool try_start_thread(void* (*entry)(void*), void* argument, pthread_t& thread) noexcept {
  return platform::start_thread(entry, argument, thread) == 0;
}

pthread_t start_thread(void* (*entry)(void*), void* argument) {
  pthread_t thread{};
  const int failed = platform::start_thread(entry, argument, thread);
  if (failed != 0) fail(GRADSTEP_ERR_OUT_OF_MEMORY, "no thread can be started: pthread_create failed with {}", failed);
  return thread;
}

ThreadPool::~ThreadPool() {
  if (workers_.empty() || fork_generation_ != fork_generation()) return;  // a forked child has no workers to join
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  signals_->wake.notify_all();
  for (pthread_t worker : workers_) pthread_join(worker, nullptr);
}

void ThreadPool::run(std::int64_t n, FunctionRef<void(std::int64_t)> body) {
  std::unique_lock running(run_mutex_, std::defer_lock);
  if (threads_ <= 1 || n <= 1 || !running.try_lock()) {
    for (std::int64_t i = 0; i < n; ++i) body(i);
    return;
  }
  start_threads();
  // Several grains per thread even out their speeds; a grain keeps the shared counter cool.
  Job job{body, n, std::max<std::int64_t>(1, n / (8 * threads_)), {}, {}, {}};
  {
    const std::lock_guard lock(mutex_);
    job_ = &job;
    active_ = workers_.size();
    ++round_;
  }
  signals_->wake.notify_all();
  drain(job);
  std::unique_lock lock(mutex_);
  signals_->done.wait(lock, [&] { return active_ == 0; });
  job_ = nullptr;
  lock.unlock();
  if (job.error) std::rethrow_exception(job.error);
}

/// As many as there can be. Missing threads are tried again by the next run.
void ThreadPool::start_threads() noexcept {
  const auto wanted = static_cast<std::size_t>(threads_ - 1);
  if (workers_.size() == wanted) return;
  if (workers_.empty()) fork_generation_ = fork_generation();
  // New workers take part from the next round on, which does not begin meanwhile. Earlier threads have read this.
  rounds_before_ = round_;
  try {
    workers_.reserve(wanted);
  } catch (const std::bad_alloc&) {
    return;
  }
  while (workers_.size() < wanted) {
    pthread_t worker{};
    if (!try_start_thread(
            [](void* pool) -> void* {
              static_cast<ThreadPool*>(pool)->work();
              return nullptr;
            },
            this, worker)) {
      return;
    }
    workers_.push_back(worker);
  }
}

void ThreadPool::work() {
  std::uint64_t seen = rounds_before_;
  std::unique_lock lock(mutex_);
  for (;;) {
    signals_->wake.wait(lock, [&] { return stopping_ || round_ != seen; });
    if (stopping_) return;
    seen = round_;
    Job& job = *job_;
    lock.unlock();
    {
      const FpEnvironment environment;
      drain(job);
    }
    lock.lock();
    if (--active_ == 0) signals_->done.notify_one();
  }
}

void ThreadPool::drain(Job& job) {
  for (;;) {
    const std::int64_t begin = job.next.fetch_add(job.grain, std::memory_order_relaxed);
    if (begin >= job.n) return;
    const std::int64_t end = std::min(job.n, begin + job.grain);
    try {
      for (std::int64_t i = begin; i < end; ++i) job.body(i);
    } catch (...) {
      const std::lock_guard lock(job.error_mutex);
      if (!job.error) job.error = std::current_exception();
    }
  }
}

}  // namespace gradstep
