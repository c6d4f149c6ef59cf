// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "updater/recovery.h"

#include <algorithm>

#include "core/error.h"

namespace gradstep {

namespace {

/// Before the local step of the window that it is in.
bool same_start(const Standing& a, const Standing& b) {
  return a.windows == b.windows && a.steps - a.is_stepped == b.steps - b.is_stepped &&
         a.local_steps - a.is_stepped == b.local_steps - b.is_stepped && a.partition == b.partition;
}

}  // namespace

Recovery::Recovery(Communicator& comm, Optimizer& optimizer, Standing own, const Deadline& deadline)
    : comm_(comm),
      optimizer_(optimizer),
      data_(comm, *optimizer.context(), optimizer.site()),
      deadline_(deadline),
      all_(static_cast<std::size_t>(comm.world_size())) {
  const std::vector<StoredState> states = optimizer.state().stored();
  own.steps = optimizer.state_is_whole() ? optimizer.step_count() : -1;
  own.skipped = optimizer.skipped_steps();
  own.buffers = static_cast<std::int64_t>(states.size());
  for (const StoredState& state : states) own.bytes += state.array.bytes();
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
  for (std::size_t r = 1; r < all_.size(); ++r) {
    const Standing& furthest = all_[root_];
    const bool is_further =
        all_[r].steps != furthest.steps ? all_[r].steps > furthest.steps : all_[r].windows > furthest.windows;
    if (is_further) root_ = r;
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

void Recovery::bring(std::span<const Array> params, Replicated replicated) {
  brings_state_ = !together_ || replicated == Replicated::parameters_and_state;
  if (!together_ || replicated != Replicated::nothing) {
    for (const Array& param : params) stage(param);
  }
  if (brings_state_) {
    for (const StoredState& state : optimizer_.state().stored()) stage(state.array);
    flags_ = optimizer_.state().flags();
  }
  if (is_root()) copy(/*out=*/true);
  for (const Transfer& transfer : transfers_) {
    if (transfer.target.size > 0) data_.broadcast(transfer.staging.data(), transfer.target.bytes(), root(), deadline_);
  }
  data_.settle(deadline_);
  if (!flags_.empty()) comm_.broadcast(flags_.data(), static_cast<std::int64_t>(flags_.size()), root(), deadline_);
}

void Recovery::commit() {
  if (is_root()) return;
  copy(/*out=*/false);
  if (!brings_state_) return;
  optimizer_.state().set_flags(flags_);
  optimizer_.set_counters(root_standing().steps, root_standing().skipped);
}

}  // namespace gradstep
