// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/engines/local_group.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"

namespace gradstep {

namespace {

void copy(void* destination, const void* source, std::int64_t bytes) {
  if (bytes > 0 && destination != source) std::memmove(destination, source, static_cast<std::size_t>(bytes));
}

}  // namespace

/// A message in the inbox of its receiver, withdrawn if the sender gives up.
class LocalGroup::Posted {
 public:
  Posted(LocalGroup& group, std::unique_lock<std::mutex>& lock, std::int32_t from, const void* data, std::int64_t bytes,
         std::int32_t to)
      : group_(group), lock_(lock), message_{from, data, bytes, group.seat(from).call_code()}, from_(from), to_(to) {
    group_.seat(to_).inbox.push_back(&message_);
    group_.seat(to_).changed.notify_one();
  }
  ~Posted() {
    // A copy in progress cannot be called off; it ends soon.
    group_.seat(from_).changed.wait(lock_, [&] { return message_.done || !message_.copying; });
    if (!message_.done) std::erase(group_.seat(to_).inbox, &message_);
  }
  Posted(const Posted&) = delete;
  Posted& operator=(const Posted&) = delete;

  void wait(const Deadline& deadline) {
    const auto ended = [&] {
      if (!message_.done && !message_.copying) group_.check(from_, to_);
      return message_.done;
    };
    if (!group_.seat(from_).changed.wait_until(lock_, deadline.time(), ended)) {
      fail(GRADSTEP_ERR_TIMEOUT, "rank {} did not receive until the deadline", to_);
    }
  }

 private:
  LocalGroup& group_;
  std::unique_lock<std::mutex>& lock_;
  Message message_;
  std::int32_t from_;
  std::int32_t to_;
};

LocalGroup::LocalGroup(std::int32_t world_size)
    : seats_(static_cast<std::size_t>(world_size)),
      published_(static_cast<std::size_t>(world_size)),
      arrived_ranks_(static_cast<std::size_t>(world_size)) {}

void LocalGroup::wake_all() {
  for (Seat& each : seats_) each.changed.notify_all();
  round_changed_.notify_all();
}

/// Throws if `rank` cannot wait for `needed` any more.
void LocalGroup::check(std::int32_t rank, std::int32_t needed) const {
  if (seat(rank).aborted) fail(GRADSTEP_ERR_ABORTED, "this rank aborted");
  if (!disagreement_.empty()) fail(GRADSTEP_ERR_MISMATCH, "{}", disagreement_);
  if (broken_by_ >= 0) fail(GRADSTEP_ERR_PEER_LOST, "rank {} aborted", broken_by_);
  if (seat(needed).left) fail(GRADSTEP_ERR_PEER_LOST, "rank {} has left", needed);
}

void LocalGroup::check_all(std::int32_t rank) const {
  for (std::int32_t r = 0; r < world_size(); ++r) check(rank, r);
}

void LocalGroup::disagree(std::string text) {
  if (disagreement_.empty()) disagreement_ = std::move(text);
  wake_all();
  fail(GRADSTEP_ERR_MISMATCH, "{}", disagreement_);
}

std::string LocalGroup::missing_ranks() const {
  std::string text;
  for (std::int32_t r = 0; r < world_size(); ++r) {
    if (!arrived_ranks_[static_cast<std::size_t>(r)]) text += fmt::format("{}{}", text.empty() ? "" : ", ", r);
  }
  return text;
}

// Two waits: for all to arrive, which can fail, and for all to have consumed, which cannot: every rank is inside this
// function then, and no buffer may be taken away from under a rank that copies.
void LocalGroup::round(std::int32_t rank, Kind kind, std::int64_t bytes, const void* published,
                       const Deadline& deadline, FunctionRef<void()> consume) {
  std::unique_lock lock(mutex_);
  check_all(rank);
  if (arrived_ == 0) {
    kind_ = kind;
    bytes_ = bytes;
    call_ = seat(rank).call_code();
    first_ = rank;
  } else if (call_ != seat(rank).call_code()) {
    disagree(text_of_difference(rank, seat(rank).call_code(), first_, call_));
  } else if (kind_ != kind || bytes_ != bytes) {
    disagree(fmt::format("rank {} makes another call, or with {} bytes where others have {}", rank, bytes, bytes_));
  }
  const auto place = static_cast<std::size_t>(rank);
  published_[place] = published;
  if (seats_[place].said != nullptr) seats_[place].note = seats_[place].said->note;
  arrived_ranks_[place] = true;
  const std::uint64_t mine = finished_ + 1;
  if (++arrived_ == world_size()) {
    consuming_ = world_size();
    ready_ = mine;
    round_changed_.notify_all();
  } else {
    try {
      const auto ready = [&] {
        if (ready_ != mine) check_all(rank);
        return ready_ == mine;
      };
      if (!round_changed_.wait_until(lock, deadline.time(), ready)) {
        fail(GRADSTEP_ERR_TIMEOUT, "rank {} did not come until the deadline", missing_ranks());
      }
    } catch (...) {
      arrived_ranks_[place] = false;
      --arrived_;
      throw;
    }
  }
  lock.unlock();
  if (Said* said = seats_[place].said; said != nullptr) {
    for (const Seat& peer : seats_) said->hear(peer.note);
  }
  consume();
  lock.lock();
  if (--consuming_ == 0) {
    arrived_ = 0;
    std::fill(arrived_ranks_.begin(), arrived_ranks_.end(), false);
    finished_ = mine;
    round_changed_.notify_all();
  } else {
    round_changed_.wait(lock, [&] { return finished_ >= mine; });
  }
}

void LocalGroup::all_gather(std::int32_t rank, const void* send, void* receive, std::int64_t bytes,
                            const Deadline& deadline) {
  round(rank, Kind::all_gather, bytes, send, deadline, [&] {
    for (std::size_t r = 0; r < published_.size(); ++r) {
      copy(static_cast<std::byte*>(receive) + static_cast<std::int64_t>(r) * bytes, published_[r], bytes);
    }
  });
}

void LocalGroup::broadcast(std::int32_t rank, void* data, std::int64_t bytes, std::int32_t root,
                           const Deadline& deadline) {
  round(rank, Kind::broadcast, bytes, data, deadline,
        [&] { copy(data, published_[static_cast<std::size_t>(root)], bytes); });
}

void LocalGroup::exchange(std::int32_t rank, const void* const* send, const std::int64_t* send_bytes,
                          void* const* receive, const std::int64_t* receive_bytes, const Deadline& deadline) {
  struct Parcels {
    const void* const* data;
    const std::int64_t* bytes;
  };
  const Parcels own{send, send_bytes};
  std::int32_t misfit = -1;
  round(rank, Kind::exchange, 0, &own, deadline, [&] {
    for (std::int32_t from = 0; from < world_size(); ++from) {
      if (from == rank) continue;
      const auto& parcels = *static_cast<const Parcels*>(published_[static_cast<std::size_t>(from)]);
      if (parcels.bytes[rank] == receive_bytes[from]) {
        copy(receive[from], parcels.data[rank], receive_bytes[from]);
      } else {
        misfit = from;
      }
    }
  });
  if (misfit < 0) return;
  const std::lock_guard lock(mutex_);
  disagree(fmt::format("rank {} does not send rank {} the {} bytes it expects", misfit, rank, receive_bytes[misfit]));
}

void LocalGroup::barrier(std::int32_t rank, const Deadline& deadline) {
  round(rank, Kind::barrier, 0, nullptr, deadline, [] {});
}

std::shared_ptr<LocalGroup> LocalGroup::share(std::int32_t rank, Kind kind, std::int32_t maker, std::size_t ranks,
                                              const Deadline& deadline) {
  std::shared_ptr<LocalGroup> own;
  if (rank == maker && ranks > 0) own = std::make_shared<LocalGroup>(static_cast<std::int32_t>(ranks));
  std::shared_ptr<LocalGroup> shared;
  round(rank, kind, 0, &own, deadline, [&] {
    shared = *static_cast<const std::shared_ptr<LocalGroup>*>(published_[static_cast<std::size_t>(maker)]);
  });
  return shared;
}

std::shared_ptr<LocalGroup> LocalGroup::dup(std::int32_t rank, const Deadline& deadline) {
  return share(rank, Kind::dup, 0, seats_.size(), deadline);
}

std::shared_ptr<LocalGroup> LocalGroup::split(std::int32_t rank, std::span<const std::int32_t> members,
                                              const Deadline& deadline) {
  return share(rank, Kind::split, members.empty() ? rank : members.front(), members.size(), deadline);
}

void LocalGroup::send(std::int32_t rank, const void* data, std::int64_t bytes, std::int32_t to,
                      const Deadline& deadline) {
  std::unique_lock lock(mutex_);
  check(rank, to);
  Posted posted(*this, lock, rank, data, bytes, to);
  posted.wait(deadline);
}

void LocalGroup::recv(std::int32_t rank, void* data, std::int64_t bytes, std::int32_t from, const Deadline& deadline) {
  std::unique_lock lock(mutex_);
  take(lock, rank, data, bytes, from, deadline);
}

void LocalGroup::send_recv(std::int32_t rank, const void* send, std::int64_t send_bytes, std::int32_t to, void* receive,
                           std::int64_t receive_bytes, std::int32_t from, const Deadline& deadline) {
  std::unique_lock lock(mutex_);
  check(rank, to);
  Posted posted(*this, lock, rank, send, send_bytes, to);
  take(lock, rank, receive, receive_bytes, from, deadline);
  posted.wait(deadline);
}

void LocalGroup::take(std::unique_lock<std::mutex>& lock, std::int32_t rank, void* data, std::int64_t bytes,
                      std::int32_t from, const Deadline& deadline) {
  auto& inbox = seat(rank).inbox;
  auto found = inbox.end();
  const auto here = [&] {
    found = std::find_if(inbox.begin(), inbox.end(), [&](const Message* m) { return m->from == from; });
    if (found == inbox.end()) check(rank, from);
    return found != inbox.end();
  };
  if (!seat(rank).changed.wait_until(lock, deadline.time(), here)) {
    fail(GRADSTEP_ERR_TIMEOUT, "rank {} sent nothing until the deadline", from);
  }
  Message& message = **found;
  if (message.call != seat(rank).call_code()) {
    disagree(text_of_difference(from, message.call, rank, seat(rank).call_code()));
  }
  if (message.bytes != bytes) {
    disagree(fmt::format("rank {} sends {} bytes, rank {} expects {}", from, message.bytes, rank, bytes));
  }
  inbox.erase(found);
  message.copying = true;
  lock.unlock();
  copy(data, message.data, bytes);
  lock.lock();
  message.done = true;
  seat(from).changed.notify_one();
}

void LocalGroup::carry(std::int32_t rank, Said* said) {
  const std::lock_guard lock(mutex_);
  seat(rank).said = said;
}

void LocalGroup::abort(std::int32_t rank) noexcept {
  const std::lock_guard lock(mutex_);
  seat(rank).aborted = true;
  if (broken_by_ < 0) broken_by_ = rank;
  wake_all();
}

void LocalGroup::leave(std::int32_t rank) noexcept {
  const std::lock_guard lock(mutex_);
  seat(rank).left = true;
  wake_all();
}

}  // namespace gradstep
