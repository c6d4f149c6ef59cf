// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/progress_thread.h"

#include "core/deadline.h"
#include "core/error.h"
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

void ProgressThread::run(FunctionRef<void()> job, FunctionRef<void()> poll) {
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
  shared.job = &job;
  shared.failure = GRADSTEP_OK;
  shared.wake.notify_one();
  while (
      !shared.done.wait_until(lock, Deadline::Clock::now() + kInterruptPoll, [&] { return shared.job == nullptr; })) {
    lock.unlock();
    poll();
    lock.lock();
  }
  if (shared.failure != GRADSTEP_OK) throw_error(shared.failure, std::move(shared.text));
}

void ProgressThread::Shared::serve() {
  std::unique_lock lock(mutex);
  for (;;) {
    wake.wait(lock, [&] { return stopping || job != nullptr; });
    if (stopping) return;
    const FunctionRef<void()> body = *job;
    lock.unlock();
    // The exception object itself stays on this thread: only its status and text cross.
    gradstep_status status = GRADSTEP_OK;
    try {
      body();
    } catch (...) {
      status = translate_exception();
    }
    lock.lock();
    failure = status;
    if (status != GRADSTEP_OK) text = last_error();
    job = nullptr;
    done.notify_one();
  }
}

}  // namespace gradstep
