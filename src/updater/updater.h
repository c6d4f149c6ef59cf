// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Accumulator, reducer and optimizer chained: what Lingvo's GradientAggregationOptimizer and SINGA's DistOpt do in one.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>

#include "core/busy_flag.h"
#include "gradstep/updater.h"
#include "updater/agreement.h"
#include "updater/chain.h"
#include "updater/local_steps.h"
#include "updater/outer_rounds.h"
#include "updater/recovery.h"
#include "updater/saved_updater.h"

namespace gradstep {

gradstep_updater_options default_updater_options();

class Updater {
 public:
  /// accumulator, reducer and outer may be NULL; options.outer is not looked at.
  Updater(std::shared_ptr<Context> context, std::shared_ptr<Optimizer> optimizer,
          std::shared_ptr<Accumulator> accumulator, std::shared_ptr<Reducer> reducer,
          const gradstep_updater_options& options, std::shared_ptr<Optimizer> outer = nullptr);
  Updater(const Updater&) = delete;
  Updater& operator=(const Updater&) = delete;

  // Buffers were checked against the schema.

  /// Both return whether parameters were stepped.
  bool push(const StepBuffers& buffers, double weight);
  bool flush(const BufferList& params);
  void recover(Communicator* comm, const BufferList& params);

  const Schema& schema() const { return chain_.optimizer->schema(); }

  /// Work that is asked for from now on is queued on the host's `stream`.
  void use(void* stream);
  /// On devices this waits for all that is queued.
  const gradstep_updater_statistics& stats();
  /// Nothing is under way in the handles of the chain.
  bool is_idle() const;
  BusyFlag& busy() { return busy_; }

  const Chain& chain() const { return chain_; }
  /// What the next push depends on, to be saved and loaded.
  SavedUpdater saved() { return {chain_, local_ ? &*local_ : nullptr, rounds_ ? &*rounds_ : nullptr, progress_}; }

 private:
  /// A window that has ended is still to be applied. The host may have reset the accumulator since.
  bool waits() const {
    return progress_.window != Window::open && (!chain_.accumulator || chain_.accumulator->ready());
  }
  void check_may_push() const;
  /// The ranks' gradients are averaged by their weights.
  bool averages_by_weight() const;
  bool finish_window(StepBuffers buffers, double weight);
  bool finish_pushed(const BufferList& params);
  void check_slices() const;
  /// With gradients that need no more exchange. `is_agreed`: in this call the ranks have compared what they must agree
  /// on.
  bool step(const StepBuffers& buffers, const double* norm, bool is_agreed);
  bool close_window(bool applied);

  /// Throws UNSUPPORTED for an accumulator whose windows end on each rank when they will.
  void check_windows_end_together(const Communicator& comm) const;
  void end_windows_together(Reducer& reducer);
  std::shared_ptr<Reducer> next_reducer(Communicator& comm, const Recovery& recovery, const Deadline& deadline);
  void leave();
  Standing standing() const;
  Replicated replicated(const Recovery& recovery) const;
  /// A window that is reduced is to be reduced again.
  void forget_exchange();
  void go_on_from(const Recovery& recovery);

  // A failed exchange finds the local step done, so it is the exchange alone that is retried.
  bool finish_local(LocalSteps& local, StepBuffers buffers, double weight, const std::exception_ptr& failure);
  bool step_locally(LocalSteps& local, const StepBuffers& buffers, double weight);
  void exchange_locally(LocalSteps& local, const BufferList& params);

  // DiLoCo. Where an exchange has failed, it alone is retried.
  bool finish_round(OuterRounds& rounds, const StepBuffers& buffers, double weight);
  bool step_in_round(OuterRounds& rounds, StepBuffers buffers, double weight);
  void exchange_round(OuterRounds& rounds, const BufferList& params);

  /// At the optimizer's site.
  const double* norm_of(const BufferList& grads);
  bool finish_sharded(StepBuffers buffers, double weight);
  /// How a sharded optimizer exchanges gradients by itself.
  GradientExchange sharded_exchange(double weight) const;

  std::shared_ptr<Context> context_;
  Chain chain_;
  gradstep_updater_options options_;
  const StepGuards guards_;                   // of every step
  gradstep_reducer_options reducer_options_;  // of all its reducers; they stay while it has none
  gradstep_updater_statistics stats_{};
  BusyFlag busy_;
  Progress progress_;
  Agreement agreement_;
  Buffer norm_;  // of gradients that no other handle has measured
  // By sync and outer, one or none: each rank steps before they exchange.
  std::optional<LocalSteps> local_;
  std::optional<OuterRounds> rounds_;
};

}  // namespace gradstep
