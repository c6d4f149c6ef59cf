// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "core/background_lane.h"

#include <utility>

#include "core/fp_environment.h"
#include "core/platform/system.h"
#include "core/thread_pool.h"

namespace gradstep {

BackgroundJob::BackgroundJob(std::int64_t n, std::function<void(std::int64_t)> body) : body_(std::move(body)), n_(n) {}

bool BackgroundJob::run_one() {
  std::int64_t task = 0;
  {
    const std::lock_guard lock(signals_->mutex);
    if (next_ >= n_) return false;
    task = next_++;
    ++running_;
  }
  try {
    body_(task);
  } catch (...) {
    // The owner finds the task's result missing.
  }
  const std::lock_guard lock(signals_->mutex);
  if (--running_ == 0) signals_->done.notify_all();
  return true;
}

void BackgroundJob::wait() {
  std::unique_lock lock(signals_->mutex);
  signals_->done.wait(lock, [&] { return running_ == 0; });
}

void BackgroundJob::cancel() {
  if (signals_.in_forked_child()) return;
  {
    const std::lock_guard lock(signals_->mutex);
    next_ = n_;
  }
  wait();
}

BackgroundLane::~BackgroundLane() {
  if (workers_.empty() || signals_.in_forked_child()) return;  // a forked child has no workers to join
  {
    const std::lock_guard lock(signals_->mutex);
    stopping_ = true;
  }
  signals_->wake.notify_all();
  for (pthread_t worker : workers_) pthread_join(worker, nullptr);
}

void BackgroundLane::submit(std::shared_ptr<BackgroundJob> job) {
  if (threads_ == 0) return;
  {
    const std::lock_guard lock(signals_->mutex);
    start_threads();
    if (workers_.empty()) return;
    jobs_.push_back(std::move(job));
  }
  signals_->wake.notify_all();
}

/// As many as there can be. Missing threads are tried again with the next job.
void BackgroundLane::start_threads() {
  workers_.reserve(static_cast<std::size_t>(threads_));
  while (workers_.size() < static_cast<std::size_t>(threads_)) {
    pthread_t worker{};
    if (!try_start_thread(
            [](void* lane) -> void* {
              static_cast<BackgroundLane*>(lane)->work();
              return nullptr;
            },
            this, worker)) {
      return;
    }
    workers_.push_back(worker);
  }
}

void BackgroundLane::work() {
  platform::lower_priority();
  std::unique_lock lock(signals_->mutex);
  for (;;) {
    signals_->wake.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
    if (stopping_) return;
    std::shared_ptr<BackgroundJob> job = jobs_.front();
    lock.unlock();
    bool more = true;
    {
      const FpEnvironment environment;
      more = job->run_one();
    }
    lock.lock();
    if (!more && !jobs_.empty() && jobs_.front() == job) jobs_.pop_front();
  }
}

}  // namespace gradstep
