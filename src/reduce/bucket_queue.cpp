// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The order of calls on a channel is the order of its buckets on every rank, whatever thread makes them and whenever. A
// window's calls end before the host's thread makes any of its own.
//
// A failure that leaves a channel whole is one that all ranks have in the same exchange. With one channel it ends the
// window there. With several the ranks cannot know how far the other channels were, so all buckets are exchanged, and
// the window fails at its end.
#include "reduce/bucket_queue.h"

#include <algorithm>

#include "core/error.h"
#include "core/short_lists.h"
#include "core/trace.h"
#include "reduce/exchange_rounds.h"

namespace gradstep {

BucketQueue::BucketQueue(std::vector<std::shared_ptr<Communicator>> channels, const Buckets& buckets, bool overlaps)
    : buckets_(buckets),
      overlaps_(overlaps),
      waited_(buckets.size()),
      last_with_(buckets.size()),
      ended_(buckets.size()) {
  for (auto& comm : channels) tracks_.push_back({std::move(comm)});
}

BucketQueue::~BucketQueue() { halt(); }

void BucketQueue::open(BucketRange range, bool together, ControlRound* control) {
  const std::lock_guard lock(mutex_);
  range_ = range;
  control_ = control;
  full_ = done_ = range.first;
  for (std::size_t b = range.first; b < range.first + tracks_.size(); ++b) tracks_[b % tracks_.size()].next = b;
  for (std::size_t first = range.first; first < range.end; ++first) {
    const std::size_t before = first < range.first + tracks_.size() ? first : first - tracks_.size();
    const bool is_with_it = before != first && last_with_[before] >= first;
    last_with_[first] = is_with_it ? last_with_[before] : together ? last_with(first) : first;
  }
  limit_.reset();
  failure_ = GRADSTEP_OK;
  is_broken_ = false;
}

/// The last of the buckets that may leave together from this one on.
std::size_t BucketQueue::last_with(std::size_t bucket) const {
  const std::int64_t most = most_common_bytes(tracks_[0].comm->world_size());
  std::int64_t bytes = buckets_[bucket]->round_bytes();
  if (bytes == 0) return bucket;
  for (std::size_t next = bucket + tracks_.size(); next < range_.end; next += tracks_.size()) {
    const std::int64_t more = buckets_[next]->round_bytes();
    bytes += more;
    if (more == 0 || bytes > most || !buckets_[next]->may_join(*buckets_[bucket])) break;
    bucket = next;
  }
  return bucket;
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
  }
  for (Track& track : tracks_) {
    if (start_serving(track)) continue;
    wait_for_served();
    return exchange_here(end, deadline);
  }
}

void BucketQueue::exchange_all(std::size_t end, const Deadline& deadline) {
  {
    const std::lock_guard lock(mutex_);
    full_ = end;
    limit_ = deadline;
  }
  // What is left of one channel's buckets needs no other thread.
  if (tracks_.size() > 1) let_leave(end, deadline);
  wait_for_served();
  exchange_here(end, deadline);
  throw_failure();
}

void BucketQueue::check() const {
  const std::lock_guard lock(mutex_);
  if (has_stopped()) throw_error(failure_, failure_text_);
}

/// No more buckets leave in this window.
bool BucketQueue::has_stopped() const { return failure_ != GRADSTEP_OK && (is_broken_ || tracks_.size() == 1); }

void BucketQueue::throw_failure() const {
  const std::lock_guard lock(mutex_);
  if (failure_ != GRADSTEP_OK) throw_error(failure_, failure_text_);
}

bool BucketQueue::is_serving() const {
  return std::ranges::any_of(tracks_, [](const Track& track) { return track.serving; });
}

bool BucketQueue::is_idle() const {
  const std::lock_guard lock(mutex_);
  return !is_serving();
}

bool BucketQueue::has_left() const {
  const std::lock_guard lock(mutex_);
  return failure_ == GRADSTEP_OK ? full_ > range_.first : done_ > range_.first || is_of_this_rank(failure_);
}

void BucketQueue::halt() noexcept {
  if (fork_generation_ != fork_generation()) return;
  bool serving = false;
  {
    const std::lock_guard lock(mutex_);
    full_ = 0;  // exchanges in progress are the last
    serving = is_serving();
  }
  if (!serving) return;
  abort();
  for (const Track& track : tracks_) track.comm->finish();
}

void BucketQueue::abort() noexcept {
  for (const Track& track : tracks_) track.comm->abort();
}

std::int64_t BucketQueue::waited_nanoseconds(std::size_t bucket) const {
  if (bucket >= waited_.size()) return 0;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(waited_[bucket]).count();
}

/// Where the channel has anything to do. False if it does not overlap.
bool BucketQueue::start_serving(Track& track) {
  {
    const std::lock_guard lock(mutex_);
    if (track.serving || !may_leave(track)) return true;
    if (!overlaps_) return false;
    track.serving = true;
  }
  try {
    track.comm->start([this, &track] { serve(track); });
    return true;
  } catch (...) {  // there is no thread for it, or no memory
    const std::lock_guard lock(mutex_);
    overlaps_ = false;
    track.serving = false;
    return false;
  }
}

/// On the progress thread: exchanges what is full until there is no more.
void BucketQueue::serve(Track& track) noexcept {
  for (;;) {
    std::size_t first = 0;
    Deadline deadline = track.comm->deadline();
    {
      const std::lock_guard lock(mutex_);
      if (!may_leave(track) || has_stopped()) {
        track.serving = false;
        exchanged_->notify_all();
        return;
      }
      first = track.next;
      if (limit_) deadline = *limit_;
    }
    try {
      exchange(first, last_with_[first], deadline);
    } catch (...) {
      keep_error(track);
    }
    const std::lock_guard lock(mutex_);
    ended_[first] = Clock::now();
    leave(track);
    exchanged_->notify_all();
  }
}

/// The buckets of one channel from `first` to `last`.
void BucketQueue::exchange(std::size_t first, std::size_t last, const Deadline& deadline) {
  const Phase phase("phase", "exchange", [&] { return buckets_[first]->numbers(first); });
  ShortLists lists;
  auto together = lists.of<Bucket*>();
  for (std::size_t bucket = first; bucket <= last; bucket += tracks_.size()) together.push_back(buckets_[bucket].get());
  Bucket::exchange_together(together, deadline, last + 1 == range_.end ? control_ : nullptr);
}

/// What track.next leaves with is exchanged, or has failed.
void BucketQueue::leave(Track& track) {
  const std::size_t last = last_with_[track.next];
  if (failure_ == GRADSTEP_OK) done_ += (last - track.next) / tracks_.size() + 1;
  track.next = last + tracks_.size();
}

void BucketQueue::count_wait(std::size_t first, Clock::duration waited) {
  const std::size_t buckets = (last_with_[first] - first) / tracks_.size() + 1;
  for (std::size_t bucket = first; bucket <= last_with_[first]; bucket += tracks_.size()) {
    waited_[bucket] += waited / static_cast<Clock::rep>(buckets);
  }
}

void BucketQueue::wait_for_room(std::size_t most) {
  const Phase phase("wait");
  std::unique_lock lock(mutex_);
  exchanged_->wait(lock, [&] { return full_ <= done_ + most || failure_ != GRADSTEP_OK || !is_serving(); });
}

void BucketQueue::wait_for_served() {
  const Phase phase("wait");
  auto begin = Clock::now();
  for (const Track& track : tracks_) track.comm->finish();
  const std::lock_guard lock(mutex_);
  for (std::size_t bucket = 0; bucket < ended_.size(); ++bucket) {
    if (ended_[bucket] <= begin) continue;
    count_wait(bucket, ended_[bucket] - begin);
    begin = ended_[bucket];
  }
}

/// Nothing is served.
void BucketQueue::exchange_here(std::size_t end, const Deadline& deadline) {
  for (std::size_t bucket = range_.first; bucket < end && !has_stopped(); ++bucket) {
    Track& track = tracks_[bucket % tracks_.size()];
    const std::size_t first = track.next;
    if (first > bucket || last_with_[first] != bucket) continue;
    const auto begin = Clock::now();
    try {
      exchange(first, bucket, deadline);
    } catch (...) {
      keep_error(track);
    }
    count_wait(first, Clock::now() - begin);
    leave(track);
  }
  check();
}

/// Call in a catch block. A failure of this rank alone, or of its channel, is the end of all channels.
void BucketQueue::keep_error(Track& failed) noexcept {
  const gradstep_status status = translate_exception();
  const bool is_broken = is_of_this_rank(status) || failed.comm->status().code != GRADSTEP_OK;
  std::string text;
  try {
    text = last_error();
  } catch (...) {  // out of memory: the status must do
  }
  {
    const std::lock_guard lock(mutex_);
    is_broken_ = is_broken_ || is_broken;
    if (failure_ == GRADSTEP_OK) {
      failure_ = status;
      failure_text_ = std::move(text);
    }
  }
  if (!is_broken) return;
  for (const Track& track : tracks_) {
    if (&track != &failed) track.comm->connection().break_with(failure_, failure_text_);
  }
}

}  // namespace gradstep
