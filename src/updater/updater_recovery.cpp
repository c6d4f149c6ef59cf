// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// An updater goes on with the ranks that are left, or have come.
#include "core/error.h"
#include "updater/recovery.h"
#include "updater/updater.h"

namespace gradstep {

std::shared_ptr<Reducer> Updater::next_reducer(Communicator& comm, const Deadline& deadline) {
  check_windows_end_together(comm);
  auto reducer = std::make_shared<Reducer>(context_, comm, reducer_options_, chain_.optimizer->schema(), deadline);
  if (local_) local_->check(*chain_.optimizer, *reducer);
  end_windows_together(*reducer);
  return reducer;
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
  } else {
    own.local_steps = local_ ? local_->count() : 0;
  }
  own.partition = local_ ? local_->partition() : 0;
  own.recoveries = progress_.recoveries;
  own.recovered_at = progress_.recovered_at;
  return own;
}

Replicated Updater::replicated() const {
  if (rounds_) return Replicated::nothing;
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
  if (chain_.optimizer->is_sharded() || (chain_.outer && chain_.outer->is_sharded())) {
    fail(GRADSTEP_ERR_INVALID_STATE,
         "recover: the optimizer's state is spread over ranks that may be gone: attach it to the "
         "new communicator and load a saved state");
  }
  if (comm == nullptr) {
    forget_exchange();  // its result goes with the reducer
    chain_.reducer.reset();
    return;
  }
  const Deadline deadline = comm->deadline();
  std::shared_ptr<Reducer> reducer = next_reducer(*comm, deadline);
  if (rounds_) rounds_->begin_window(params);
  Recovery recovery(*comm, *chain_.optimizer, rounds_ ? &*rounds_ : nullptr, standing(), deadline);
  if (local_) local_->check_partition(recovery.root_standing().partition, *reducer);
  recovery.bring(params.arrays, replicated());
  // A window that the root has skipped has left nothing behind.
  const Standing& root = recovery.root_standing();
  const Standing& own = recovery.own_standing();
  const bool is_applied = local_ || (rounds_ ? root.outer_steps > own.outer_steps : root.steps > own.steps);
  if (chain_.reducer) reducer->take_over(*chain_.reducer, waits() && recovery.is_finished_by_root() && is_applied);
  reducer->saved().rejoin(recovery.root(), deadline);
  if (!comm->vote(true, deadline)) fail(GRADSTEP_ERR_ABORTED, "a rank did not agree to recover");
  recovery.commit();
  go_on_from(recovery);
  chain_.reducer = std::move(reducer);
  agreement_.start_over();
  context_->log().write(GRADSTEP_LOG_INFO,
                        "updater: recovered with {} ranks, from rank {} after {} windows and {} steps",
                        comm->world_size(), recovery.root(), progress_.windows, recovery.root_standing().steps);
}

void Updater::go_on_from(const Recovery& recovery) {
  if (rounds_) rounds_->forget_sent();
  const Standing& own = recovery.own_standing();
  const Standing& root = recovery.root_standing();
  if (recovery.keeps_windows()) {
    forget_exchange();  // others may not have made it
  } else {
    // Where parameters are averaged, the root's local step is in them and stays.
    const bool stays = recovery.is_root() && own.is_stepped != 0 && replicated() == Replicated::nothing;
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
  if (local_ && !recovery.together()) {
    // All have the root's parameters: what it had not exchanged needs no exchange.
    local_->go_on_from(root.is_stepped != 0 ? 0 : root.local_steps, root.partition);
  }
  if (rounds_ && !recovery.together()) {
    rounds_->go_on_from(rounds_->standing_at(root.rounds, root.local_steps));
  }
  progress_.windows = root.windows;
  progress_.recoveries = root.recoveries + 1;
  progress_.recovered_at = root.windows;
}

}  // namespace gradstep
