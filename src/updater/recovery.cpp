// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "updater/recovery.h"

#include <algorithm>
#include <tuple>

#include "core/caught.h"
#include "core/error.h"

namespace gradstep {

namespace {

/// Before the local step of the window that it is in. Between the exchanges of rounds each rank skips steps by itself.
bool same_start(const Standing& a, const Standing& b) {
  const bool same_steps = a.rounds >= 0 || a.steps - a.is_stepped == b.steps - b.is_stepped;
  return a.windows == b.windows && a.rounds == b.rounds && same_steps &&
         a.local_steps - a.is_stepped == b.local_steps - b.is_stepped && a.partition == b.partition;
}

/// Its numbers and the parameters belong together. Where the state is shared, other ranks may lack their part.
bool is_good(const Optimizer& optimizer) {
  const Wholeness& wholeness = optimizer.wholeness();
  return wholeness.holds() || (optimizer.is_sharded() && wholeness.has_share() && !wholeness.is_ahead());
}

Share share_of(Optimizer& optimizer) {
  Share share;
  share.skipped = optimizer.skipped_steps();
  const Wholeness& wholeness = optimizer.wholeness();
  share.is_ahead = wholeness.is_ahead() ? 1 : 0;
  if (optimizer.is_sharded() ? wholeness.has_share() : wholeness.holds()) share.steps = optimizer.step_count();
  const std::vector<StoredState> states =
      optimizer.is_sharded() ? optimizer.state().kept() : optimizer.state().stored();
  share.buffers = static_cast<std::int64_t>(states.size());
  for (const StoredState& state : states) share.bytes += state.total * size_of(state.array.dtype);
  if (!optimizer.is_sharded()) return share;
  const Sharding& sharding = *optimizer.sharding();
  share.ranks = sharding.comm().world_size();
  share.rank = sharding.comm().rank();
  share.is_reached = optimizer.can_reach_peers() ? 1 : 0;
  share.in_slices = sharding.takes_slices() ? 1 : 0;
  share.gradients = sharding.options().gradients;
  share.average = sharding.options().average;
  share.preconditioners = sharding.options().preconditioners;
  return share;
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
  own.own = share_of(optimizer);
  bool belongs_together = is_good(optimizer);
  if (rounds_ != nullptr) {
    own.outer = share_of(rounds_->optimizer());
    belongs_together = belongs_together && is_good(rounds_->optimizer());
  }
  own.steps = belongs_together ? optimizer.step_count() : -1;
  comm.all_gather(&own, all_.data(), sizeof own, deadline_);
  check_forms();
  find_root();
  compare();
}

Recovery::~Recovery() {
  for (const Dealt& dealt : dealt_) dealt.optimizer->drop_handover();
}

void Recovery::check_forms() const {
  for (const auto share : {&Standing::own, &Standing::outer}) {
    const Share& first = all_[0].*share;
    for (std::size_t r = 1; r < all_.size(); ++r) {
      const Share& other = all_[r].*share;
      if (other.buffers == first.buffers && other.bytes == first.bytes) continue;
      fail(GRADSTEP_ERR_MISMATCH, "rank {} holds {} state buffers of {} bytes, rank 0 holds {} of {}", r, other.buffers,
           other.bytes, first.buffers, first.bytes);
    }
  }
}

void Recovery::find_root() {
  const auto how_far = [](const Standing& s) {
    return std::tuple(s.is_newcomer == 0, s.steps >= 0, s.rounds, s.steps, s.windows);
  };
  for (std::size_t r = 1; r < all_.size(); ++r) {
    if (how_far(all_[r]) > how_far(all_[root_])) root_ = r;
  }
  if (all_[root_].steps < 0) {
    fail(GRADSTEP_ERR_INVALID_STATE,
         "recover: no rank has a whole state since the exchange that failed: load a saved state");
  }
}

// A step cannot be taken back. Ranks that have made the local step of a window, and others that have not, can only go
// on together if the others will make it, with the same window; a newcomer has none.
void Recovery::compare() {
  const Standing& root = root_standing();
  const bool one_start = std::ranges::all_of(
      all_, [&](const Standing& s) { return s.is_newcomer != root.is_newcomer || same_start(s, root); });
  const bool one_push = std::ranges::all_of(all_, [&](const Standing& s) { return s.pushes == root.pushes; });
  const bool any_stepped = std::ranges::any_of(all_, [](const Standing& s) { return s.is_stepped != 0; });
  has_newcomers_ = std::ranges::any_of(all_, [](const Standing& s) { return s.is_newcomer != 0; });
  const bool one_window = one_push && !(has_newcomers_ && any_stepped);
  keeps_windows_ = one_start && one_window;
  together_ = one_start && (one_window || !any_stepped);
}

bool Recovery::is_between_rounds() const {
  return std::ranges::all_of(all_, [](const Standing& s) { return s.local_steps == 0; });
}

// A number alone does not tell: the others may have gone on without this rank, and have finished a window of the same
// number among themselves.
bool Recovery::is_finished_by_root() const {
  const Standing& own = own_standing();
  const Standing& root = root_standing();
  if (own.recoveries == root.recoveries) return root.windows > own.windows;
  return own.recoveries + 1 == root.recoveries && root.recovered_at > own.windows;
}

/// What no rank takes over does not travel.
void Recovery::stage(const Array& target, bool is_replicated) {
  if (together_ && !has_newcomers_ && !is_replicated) return;
  const auto bytes = static_cast<std::size_t>(target.bytes());
  transfers_.push_back({target, optimizer_.site().allocate(bytes, /*zeroed=*/false), is_replicated});
}

void Recovery::copy(bool out) {
  WorkList work;
  std::vector<CopyItem> items;
  for (const Transfer& transfer : transfers_) {
    if (!out && !is_taken(transfer.is_replicated)) continue;
    work.append(transfer.target.size);
    if (out) {
      items.push_back({transfer.staged(), transfer.target});
    } else {
      items.push_back({transfer.target, transfer.staged()});
    }
  }
  optimizer_.site().backend().copy({&work, items, {}}, 1, 1, optimizer_.site().queue());
}

bool Recovery::is_dealt(const Optimizer& optimizer) const {
  return std::ranges::any_of(dealt_, [&](const Dealt& dealt) { return dealt.optimizer == &optimizer; });
}

const Share& Recovery::sharded(Share Standing::* share) const {
  if ((root_standing().*share).ranks > 0) return root_standing().*share;
  const auto first = std::ranges::find_if(all_, [&](const Standing& s) { return (s.*share).ranks > 0; });
  return first != all_.end() ? (*first).*share : root_standing().*share;
}

/// Ranks that share the state are missing here, and all that are here can still reach them: they may be leaving in
/// order.
bool Recovery::asks_peers(Share Standing::* share) const {
  const std::int64_t ranks = sharded(share).ranks;
  std::vector<bool> are_here(static_cast<std::size_t>(ranks));
  for (const Standing& standing : all_) {
    const Share& other = standing.*share;
    if (other.ranks == 0) continue;
    if (other.ranks != ranks || other.is_reached == 0) return false;
    are_here[static_cast<std::size_t>(other.rank)] = true;
  }
  return !std::ranges::all_of(are_here, [](bool is_here) { return is_here; });
}

void Recovery::deal_out(Optimizer& optimizer, Share Standing::* share,
                        const std::vector<std::vector<std::size_t>>& groups) {
  const Share& root = root_standing().*share;
  const Share& own = own_standing().*share;
  gradstep_sharding_options options{};
  options.struct_size = sizeof options;
  const Share& shared = sharded(share);
  options.gradients = static_cast<std::int32_t>(shared.gradients);
  options.average = static_cast<std::int32_t>(shared.average);
  options.preconditioners = static_cast<std::int32_t>(shared.preconditioners);
  Handover handover;
  handover.root = this->root();
  handover.steps = root.steps;
  handover.holds = own.steps == root.steps && (own_standing().is_newcomer == 0 || is_root());
  handover.has_receivers = std::ranges::any_of(all_, [&](const Standing& s) { return (s.*share).ranks == 0; });
  const auto prepare = [&](const Deadline& deadline) {
    dealt_.push_back({&optimizer, nullptr});
    const auto channel = comm_.private_channel(deadline);
    dealt_.back().next = optimizer.prepare_handover(channel, options, groups, handover, deadline);
  };
  if (asks_peers(share)) {
    handover.asks_peers = true;
    // Ranks that are silent leave time for the other way.
    const Deadline first = Deadline::after_ms(deadline_.remaining_ms() / 2);
    const std::exception_ptr failure = caught([&] { prepare(first); });
    if (!failure) return;
    dealt_.pop_back();
    if (comm_.status().code != GRADSTEP_OK) std::rethrow_exception(failure);
    handover.asks_peers = false;  // the others are gone: what is left may still be all
  }
  prepare(deadline_);
}

void Recovery::deal_out(const std::vector<std::vector<std::size_t>>& groups) {
  const auto groups_of = [&](const Share& share) {
    return share.in_slices != 0 ? groups : std::vector<std::vector<std::size_t>>{};
  };
  const Share& own = sharded(&Standing::own);
  const Share& outer = sharded(&Standing::outer);
  dealt_.reserve(2);
  if (own.ranks > 0) deal_out(optimizer_, &Standing::own, groups_of(own));
  if (outer.ranks > 0) deal_out(rounds_->optimizer(), &Standing::outer, groups_of(outer));
}

void Recovery::stage_state(Optimizer& optimizer, bool is_replicated) {
  // What was dealt out is where it belongs.
  if (is_dealt(optimizer)) return taken_.push_back({optimizer, optimizer.state().flags(), /*is_replicated=*/true});
  for (const StoredState& state : optimizer.state().stored()) stage(state.array, is_replicated);
  taken_.push_back({optimizer, optimizer.state().flags(), is_replicated});
}

void Recovery::bring(std::span<const Array> params, Replicated replicated) {
  for (const Array& param : params) stage(param, replicated != Replicated::nothing);
  stage_state(optimizer_, replicated == Replicated::parameters_and_state);
  if (rounds_ != nullptr) {
    for (const Array& start : rounds_->start()) stage(start, /*is_replicated=*/true);
    stage_state(rounds_->optimizer(), /*is_replicated=*/true);
  }
  if (is_root()) copy(/*out=*/true);
  for (const Transfer& transfer : transfers_) {
    if (transfer.target.size > 0) data_.broadcast(transfer.staging.data(), transfer.target.bytes(), root(), deadline_);
  }
  data_.settle(deadline_);
  for (Taken& taken : taken_) {
    if (taken.flags.empty() || (together_ && !has_newcomers_ && !taken.is_replicated)) continue;
    comm_.broadcast(taken.flags.data(), static_cast<std::int64_t>(taken.flags.size()), root(), deadline_);
  }
}

void Recovery::commit() {
  for (Dealt& dealt : dealt_) dealt.optimizer->take_over(std::move(dealt.next));
  if (!is_root()) copy(/*out=*/false);
  for (const Taken& taken : taken_) {
    if (!is_taken(taken.is_replicated) || (is_root() && !is_dealt(taken.optimizer))) continue;
    const Share& root = &taken.optimizer == &optimizer_ ? root_standing().own : root_standing().outer;
    taken.optimizer.state().set_flags(taken.flags);
    taken.optimizer.set_counters(root.steps, root.skipped);
  }
  dealt_.clear();
}

}  // namespace gradstep
