// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "updater/recovery.h"

#include <algorithm>
#include <tuple>

#include "core/error.h"

namespace gradstep {

namespace {

/// Before the local step of the window that it is in. Between the exchanges of rounds each rank skips steps by itself.
bool same_start(const Standing& a, const Standing& b) {
  const bool same_steps = a.rounds >= 0 || a.steps - a.is_stepped == b.steps - b.is_stepped;
  return a.windows == b.windows && a.rounds == b.rounds && same_steps &&
         a.local_steps - a.is_stepped == b.local_steps - b.is_stepped && a.partition == b.partition;
}

}  // namespace

Recovery::Recovery(Communicator& comm, Optimizer& optimizer, OuterRounds* rounds, Standing own,
                   const Deadline& deadline)
    : comm_(comm),
      optimizer_(optimizer),
      rounds_(rounds),
      data_(comm, *optimizer.context(), optimizer.site()),
      deadline_(deadline),
      all_(static_cast<std::size_t>(comm.world_size())) {
  const auto count = [&](Optimizer& counted) {
    const std::vector<StoredState> states = counted.state().stored();
    own.buffers += static_cast<std::int64_t>(states.size());
    for (const StoredState& state : states) own.bytes += state.array.bytes();
    return counted.state_is_whole();
  };
  bool is_whole = count(optimizer);
  own.skipped = optimizer.skipped_steps();
  if (rounds_ != nullptr) {
    is_whole = count(rounds_->optimizer()) && is_whole;
    own.outer_steps = rounds_->optimizer().step_count();
    own.outer_skipped = rounds_->optimizer().skipped_steps();
  }
  own.steps = is_whole ? optimizer.step_count() : -1;
  comm.all_gather(&own, all_.data(), sizeof own, deadline_);
  check_forms();
  find_root();
  compare();
}

void Recovery::check_forms() const {
  for (std::size_t r = 1; r < all_.size(); ++r) {
    if (all_[r].buffers != all_[0].buffers || all_[r].bytes != all_[0].bytes) {
      fail(GRADSTEP_ERR_MISMATCH, "rank {} holds {} state buffers of {} bytes, rank 0 holds {} of {}", r,
           all_[r].buffers, all_[r].bytes, all_[0].buffers, all_[0].bytes);
    }
  }
}

void Recovery::find_root() {
  const auto how_far = [](const Standing& s) { return std::tuple(s.steps >= 0, s.rounds, s.steps, s.windows); };
  for (std::size_t r = 1; r < all_.size(); ++r) {
    if (how_far(all_[r]) > how_far(all_[root_])) root_ = r;
  }
  if (all_[root_].steps < 0) {
    fail(GRADSTEP_ERR_INVALID_STATE,
         "recover: no rank has a whole state since the exchange that failed: load one first");
  }
}

// A step cannot be taken back. Ranks that have made the local step of a window, and others that have not, can only go
// on together if the others will make it, with the same window.
void Recovery::compare() {
  const Standing& first = all_[0];
  const bool one_start = std::all_of(all_.begin(), all_.end(), [&](const Standing& s) { return same_start(s, first); });
  const bool one_push =
      std::all_of(all_.begin(), all_.end(), [&](const Standing& s) { return s.pushes == first.pushes; });
  const bool any_stepped = std::any_of(all_.begin(), all_.end(), [](const Standing& s) { return s.is_stepped != 0; });
  keeps_windows_ = one_start && one_push;
  together_ = one_start && (one_push || !any_stepped);
}

// A number alone does not tell: the others may have gone on without this rank, and have finished a window of the same
// number among themselves.
bool Recovery::is_finished_by_root() const {
  const Standing& own = own_standing();
  const Standing& root = root_standing();
  if (own.recoveries == root.recoveries) return root.windows > own.windows;
  return own.recoveries + 1 == root.recoveries && root.recovered_at > own.windows;
}

void Recovery::stage(const Array& target) {
  const auto bytes = static_cast<std::size_t>(target.bytes());
  transfers_.push_back({target, optimizer_.site().allocate(bytes, /*zeroed=*/false)});
}

void Recovery::copy(bool out) {
  WorkList work;
  std::vector<CopyItem> items;
  for (const Transfer& transfer : transfers_) {
    work.append(transfer.target.size);
    if (out) {
      items.push_back({transfer.staged(), transfer.target});
    } else {
      items.push_back({transfer.target, transfer.staged()});
    }
  }
  optimizer_.site().backend().copy({&work, items, {}}, 1, 1, optimizer_.site().queue());
}

void Recovery::stage_state(Optimizer& optimizer) {
  for (const StoredState& state : optimizer.state().stored()) stage(state.array);
  taken_.push_back({optimizer, optimizer.state().flags()});
}

void Recovery::bring(std::span<const Array> params, Replicated replicated) {
  if (!together_ || replicated != Replicated::nothing) {
    for (const Array& param : params) stage(param);
  }
  if (!together_ || replicated == Replicated::parameters_and_state) stage_state(optimizer_);
  if (rounds_ != nullptr) {
    for (const Array& start : rounds_->start()) stage(start);
    stage_state(rounds_->optimizer());
  }
  if (is_root()) copy(/*out=*/true);
  for (const Transfer& transfer : transfers_) {
    if (transfer.target.size > 0) data_.broadcast(transfer.staging.data(), transfer.target.bytes(), root(), deadline_);
  }
  data_.settle(deadline_);
  for (Taken& taken : taken_) {
    if (taken.flags.empty()) continue;
    comm_.broadcast(taken.flags.data(), static_cast<std::int64_t>(taken.flags.size()), root(), deadline_);
  }
}

void Recovery::commit() {
  if (is_root()) return;
  copy(/*out=*/false);
  const Standing& root = root_standing();
  for (const Taken& taken : taken_) {
    taken.optimizer.state().set_flags(taken.flags);
    if (&taken.optimizer == &optimizer_) {
      taken.optimizer.set_counters(root.steps, root.skipped);
    } else {
      taken.optimizer.set_counters(root.outer_steps, root.outer_skipped);
    }
  }
}

}  // namespace gradstep
