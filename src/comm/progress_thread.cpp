// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/progress_thread.h"

#include "core/deadline.h"
#include "core/error.h"
#include "core/fp_environment.h"
#include "core/own_thread.h"
#include "core/thread_pool.h"

namespace gradstep {

ProgressThread::~ProgressThread() {
  if (!started_ || shared_.in_forked_child()) return;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->stopping = true;
  }
  shared_->wake.notify_one();
  pthread_join(thread_, nullptr);
}

void ProgressThread::start(std::function<void()> job) {
  if (!started_) {
    thread_ = start_thread(
        [](void* shared) -> void* {
          static_cast<Shared*>(shared)->serve();
          return nullptr;
        },
        &*shared_);
    started_ = true;
  }
  Shared& shared = *shared_;
  std::unique_lock lock(shared.mutex);
  shared.done.wait(lock, [&] { return !shared.job; });
  shared.job = std::move(job);
  shared.failure = GRADSTEP_OK;
  shared.wake.notify_one();
}

void ProgressThread::finish(FunctionRef<void()> poll) {
  Shared& shared = *shared_;
  std::unique_lock lock(shared.mutex);
  while (!shared.done.wait_until(lock, Deadline::Clock::now() + kInterruptPoll, [&] { return !shared.job; })) {
    lock.unlock();
    poll();
    lock.lock();
  }
  const gradstep_status failure = std::exchange(shared.failure, GRADSTEP_OK);
  if (failure != GRADSTEP_OK) throw_error(failure, std::move(shared.text));
}

void ProgressThread::run(FunctionRef<void()> job, FunctionRef<void()> poll) {
  start([job] { job(); });
  finish(poll);
}

void ProgressThread::Shared::serve() {
  on_own_thread = true;
  const FpEnvironment environment;
  std::unique_lock lock(mutex);
  for (;;) {
    wake.wait(lock, [&] { return stopping || job; });
    if (stopping) return;
    lock.unlock();
    // The exception object itself stays on this thread: only its status and text cross.
    gradstep_status status = GRADSTEP_OK;
    try {
      job();
    } catch (...) {
      status = translate_exception();
    }
    lock.lock();
    failure = status;
    try {
      if (status != GRADSTEP_OK) text = last_error();
    } catch (const std::bad_alloc&) {
      text.clear();  // the status must do
    }
    job = nullptr;
    done.notify_one();
  }
}

}  // namespace gradstep
