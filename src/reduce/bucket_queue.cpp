// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The order of calls on the channel is the order of buckets on every rank, whatever thread makes them and whenever. A
// window's calls end before the host's thread makes any of its own.
#include "reduce/bucket_queue.h"

#include <algorithm>

#include "core/error.h"

namespace gradstep {

BucketQueue::BucketQueue(std::shared_ptr<Communicator> comm, const Buckets& buckets, bool overlaps)
    : comm_(std::move(comm)), buckets_(buckets), overlaps_(overlaps), waited_(buckets.size()), ended_(buckets.size()) {}

BucketQueue::~BucketQueue() { halt(); }

void BucketQueue::open() {
  const std::lock_guard lock(mutex_);
  full_ = done_ = 0;
  limit_.reset();
  failure_ = GRADSTEP_OK;
}

void BucketQueue::limit(const Deadline& deadline) {
  const std::lock_guard lock(mutex_);
  limit_ = deadline;
}

void BucketQueue::let_leave(std::size_t end, const Deadline& deadline) {
  check();
  {
    const std::lock_guard lock(mutex_);
    full_ = end;
    if (serving_ || done_ == end) return;
  }
  if (!start_serving()) exchange_here(end, deadline);
}

void BucketQueue::exchange_all(std::size_t end, const Deadline& deadline) {
  bool serving = false;
  {
    const std::lock_guard lock(mutex_);
    full_ = end;
    limit_ = deadline;
    serving = serving_;
  }
  if (serving) wait_for_served();
  check();
  exchange_here(end, deadline);
}

void BucketQueue::check() const {
  const std::lock_guard lock(mutex_);
  if (failure_ != GRADSTEP_OK) throw_error(failure_, failure_text_);
}

bool BucketQueue::is_idle() const {
  const std::lock_guard lock(mutex_);
  return !serving_;
}

bool BucketQueue::has_left() const {
  const std::lock_guard lock(mutex_);
  return failure_ == GRADSTEP_OK ? full_ > 0 : done_ > 0 || is_of_this_rank(failure_);
}

void BucketQueue::halt() noexcept {
  if (fork_generation_ != fork_generation()) return;
  bool serving = false;
  {
    const std::lock_guard lock(mutex_);
    full_ = std::min(full_, done_ + 1);  // the exchange in progress is the last
    serving = serving_;
  }
  if (!serving) return;
  comm_->abort();
  comm_->finish();
}

std::int64_t BucketQueue::waited_nanoseconds(std::size_t bucket) const {
  if (bucket >= waited_.size()) return 0;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(waited_[bucket]).count();
}

/// False if the channel does not overlap.
bool BucketQueue::start_serving() {
  if (!overlaps_) return false;
  {
    const std::lock_guard lock(mutex_);
    serving_ = true;
  }
  try {
    comm_->start([this] { serve(); });
    return true;
  } catch (...) {  // there is no thread for it, or no memory
    const std::lock_guard lock(mutex_);
    overlaps_ = false;
    serving_ = false;
    return false;
  }
}

/// On the progress thread: exchanges what is full until there is no more.
void BucketQueue::serve() noexcept {
  for (;;) {
    std::size_t bucket = 0;
    Deadline deadline = comm_->deadline();
    {
      const std::lock_guard lock(mutex_);
      if (done_ == full_ || failure_ != GRADSTEP_OK) {
        serving_ = false;
        return;
      }
      bucket = done_;
      if (limit_) deadline = *limit_;
    }
    try {
      buckets_[bucket]->exchange(deadline);
    } catch (...) {
      return keep_error();
    }
    const std::lock_guard lock(mutex_);
    ended_[bucket] = Clock::now();
    ++done_;
  }
}

void BucketQueue::wait_for_served() {
  auto begin = Clock::now();
  std::size_t bucket = 0;
  {
    const std::lock_guard lock(mutex_);
    bucket = done_;
  }
  comm_->finish();
  const std::lock_guard lock(mutex_);
  for (; bucket < done_; ++bucket) {
    if (ended_[bucket] <= begin) continue;
    waited_[bucket] += ended_[bucket] - begin;
    begin = ended_[bucket];
  }
}

void BucketQueue::exchange_here(std::size_t end, const Deadline& deadline) {
  while (done_ < end) {
    try {
      exchange_alone(done_, deadline);
    } catch (...) {
      keep_error();
      throw;
    }
    ++done_;
  }
}

void BucketQueue::exchange_alone(std::size_t bucket, const Deadline& deadline) {
  const auto begin = Clock::now();
  buckets_[bucket]->exchange(deadline);
  waited_[bucket] += Clock::now() - begin;
}

void BucketQueue::keep_error() noexcept {
  const gradstep_status status = translate_exception();
  const std::lock_guard lock(mutex_);
  failure_ = status;
  serving_ = false;
  try {
    failure_text_ = last_error();
  } catch (...) {  // out of memory: the status must do
    failure_text_.clear();
  }
}

}  // namespace gradstep
