// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// An updater goes on with the ranks that are left, or have come.
#include "core/error.h"
#include "updater/recovery.h"
#include "updater/updater.h"

namespace gradstep {

namespace {

using Groups = std::vector<std::vector<std::size_t>>;

}  // namespace

/// NULL where the ranks have none because a sharded optimizer exchanges the gradients.
std::shared_ptr<Reducer> Updater::next_reducer(Communicator& comm, const Recovery& recovery, const Deadline& deadline) {
  check_windows_end_together(comm);
  const Standing& root = recovery.root_standing();
  if (recovery.is_sharded() && root.has_reducer == 0) return nullptr;
  auto reducer = std::make_shared<Reducer>(context_, comm, reducer_options_, chain_.optimizer->schema(), deadline);
  if (local_) local_->check(*chain_.optimizer, *reducer);
  end_windows_together(*reducer);
  const bool in_slices = recovery.sharded(&Standing::own).in_slices + recovery.sharded(&Standing::outer).in_slices > 0;
  const Optimizer& served = chain_.outer ? *chain_.outer : *chain_.optimizer;
  if (in_slices) reducer->deal(served.slices_of(reducer->layout().groups(), comm.world_size()));
  return reducer;
}

/// The ranks that share a state with this one gather it, and go on without this one.
void Updater::leave() {
  for (const auto& optimizer : {chain_.optimizer, chain_.outer}) {
    if (optimizer && optimizer->is_sharded()) optimizer->attach(nullptr, {});
  }
  forget_exchange();  // its result goes with the reducer
  chain_.reducer.reset();
}

Standing Updater::standing() const {
  Standing own;
  own.windows = progress_.windows;
  own.is_stepped = waits() && progress_.is_stepped(rounds_.has_value()) ? 1 : 0;
  const bool holds_window = chain_.accumulator && (waits() || !chain_.accumulator->ready());
  own.pushes = holds_window ? chain_.accumulator->pushes() : 0;
  if (rounds_) {
    const OuterRounds::Standing standing = rounds_->standing();
    own.rounds = standing.rounds;
    own.local_steps = standing.windows;
    own.weight = rounds_->mean_weight();
  } else {
    own.local_steps = local_ ? local_->count() : 0;
  }
  own.partition = local_ ? local_->partition() : 0;
  own.recoveries = progress_.recoveries;
  own.recovered_at = progress_.recovered_at;
  const bool has_history = own.windows + own.pushes + own.is_stepped + own.recoveries + chain_.optimizer->step_count() +
                               chain_.optimizer->skipped_steps() >
                           0;
  const bool shares = chain_.optimizer->is_sharded() && chain_.optimizer->sharding()->comm().world_size() > 1;
  own.is_newcomer = has_history || chain_.has_peers() || shares ? 0 : 1;
  own.has_reducer = chain_.reducer ? 1 : 0;
  return own;
}

Replicated Updater::replicated(const Recovery& recovery) const {
  if (rounds_) {
    const bool is_one_start = recovery.is_between_rounds() && !rounds_->is_streaming();
    return is_one_start ? Replicated::parameters : Replicated::nothing;
  }
  if (options_.sync == GRADSTEP_SYNC_GRADIENTS) return Replicated::parameters_and_state;
  return options_.sync == GRADSTEP_SYNC_DELTAS ? Replicated::parameters : Replicated::nothing;
}

void Updater::forget_exchange() {
  if (rounds_) rounds_->forget_sent();
  if (progress_.window == Window::reduced) progress_.window = rounds_ ? Window::stepped : Window::full;
}

// All that can fail comes first, and leaves everything as it was; a rank on which the last vote fails can recover anew
// with ranks on which it did not.
void Updater::recover(Communicator* comm, const BufferList& params) {
  const HeldChain held(chain_);
  if (rounds_ && chain_.optimizer->is_sharded()) {
    fail(GRADSTEP_ERR_INVALID_STATE,
         "recover: the inner optimizer's state is spread over other ranks than the reducer's: attach it to a new "
         "communicator and load a saved state");
  }
  if (chain_.has_parts()) {
    fail(GRADSTEP_ERR_UNSUPPORTED,
         "recover: the host has spread the parameters: spread them over the ranks that are left, make an optimizer of "
         "them and load a saved state");
  }
  if (comm == nullptr) return leave();
  const Deadline deadline = comm->deadline();
  if (rounds_) rounds_->begin_window(params);
  Recovery recovery(*comm, *chain_.optimizer, rounds_ ? &*rounds_ : nullptr, standing(), deadline);
  const std::shared_ptr<Reducer> reducer = next_reducer(*comm, recovery, deadline);
  if (local_ && reducer) local_->check_partition(recovery.root_standing().partition, *reducer);
  if (recovery.is_sharded()) recovery.deal_out(reducer ? reducer->layout().groups() : Groups{});
  recovery.bring(params.arrays, replicated(recovery));
  // A window that the root has skipped has left nothing behind.
  const Standing& root = recovery.root_standing();
  const Standing& own = recovery.own_standing();
  const auto is_behind = [](const Share& mine, const Share& roots) {
    return roots.steps > mine.steps || mine.is_ahead != 0;
  };
  const bool is_applied = local_ || (rounds_ ? is_behind(own.outer, root.outer) : is_behind(own.own, root.own));
  const bool is_finished = waits() && recovery.is_finished_by_root() && is_applied;
  if (reducer && chain_.reducer) reducer->take_over(*chain_.reducer, is_finished);
  if (reducer) reducer->saved().rejoin(recovery.root(), deadline);
  if (!comm->vote(true, deadline)) fail(GRADSTEP_ERR_ABORTED, "a rank did not agree to recover");
  recovery.commit();
  go_on_from(recovery);
  chain_.reducer = reducer;
  agreement_.start_over();
  context_->log().write(GRADSTEP_LOG_INFO,
                        "updater: recovered with {} ranks, from rank {} after {} windows and {} steps",
                        comm->world_size(), recovery.root(), progress_.windows, root.own.steps);
}

void Updater::go_on_from(const Recovery& recovery) {
  if (rounds_) rounds_->forget_sent();
  const Standing& own = recovery.own_standing();
  const Standing& root = recovery.root_standing();
  if (recovery.keeps_windows()) {
    forget_exchange();  // others may not have made it
  } else {
    // Where parameters are averaged, the root's local step is in them and stays.
    const bool stays = recovery.is_root() && own.is_stepped != 0 && replicated(recovery) == Replicated::nothing;
    const bool holds = own.pushes > 0 || own.is_stepped != 0;
    if (holds && !stays && !recovery.is_finished_by_root()) {
      ++stats_.dropped_windows;
      context_->log().write(GRADSTEP_LOG_WARNING, "updater: recovery dropped this rank's window of {} micro-batches",
                            own.pushes);
    }
    const bool is_repeated =
        !chain_.accumulator && waits() && own.is_stepped == 0 && own.windows == root.windows && own.steps == root.steps;
    progress_.window = is_repeated ? Window::full : Window::open;
    if (chain_.accumulator) chain_.accumulator->reset();
  }
  if (recovery.takes_over()) progress_.known_skips = root.own.skipped;
  if (local_ && recovery.takes_over()) {
    // All have the root's parameters: what it had not exchanged needs no exchange.
    local_->go_on_from(root.is_stepped != 0 ? 0 : root.local_steps, root.partition);
  }
  if (rounds_ && recovery.takes_over()) {
    rounds_->go_on_from(rounds_->standing_at(root.rounds, root.local_steps, root.weight));
  }
  progress_.windows = root.windows;
  progress_.recoveries = root.recoveries + 1;
  progress_.recovered_at = root.windows;
}

}  // namespace gradstep
