// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Accumulator, reducer and optimizer chained: what Lingvo's GradientAggregationOptimizer and SINGA's DistOpt do in one.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "accumulate/accumulator.h"
#include "core/busy_flag.h"
#include "core/function_ref.h"
#include "core/state_part.h"
#include "gradstep/updater.h"
#include "optim/optimizer.h"
#include "reduce/reducer.h"
#include "updater/local_steps.h"
#include "updater/recovery.h"

namespace gradstep {

gradstep_updater_options default_updater_options();

class Updater {
 public:
  class Chain;  // exclusive use of the three handles during a call

  /// accumulator and reducer may be NULL.
  Updater(std::shared_ptr<Context> context, std::shared_ptr<Optimizer> optimizer,
          std::shared_ptr<Accumulator> accumulator, std::shared_ptr<Reducer> reducer,
          const gradstep_updater_options& options);
  Updater(const Updater&) = delete;
  Updater& operator=(const Updater&) = delete;

  // Buffers were checked against the schema.

  /// Both return whether parameters were stepped.
  bool push(const StepBuffers& buffers, double weight);
  bool flush(const BufferList& params);
  void recover(Communicator* comm, const BufferList& params);

  const Schema& schema() const { return optimizer_->schema(); }

  /// Work that is asked for from now on is queued on the host's `stream`.
  void use(void* stream);
  /// On devices this waits for all that is queued.
  const gradstep_updater_statistics& stats();
  /// Nothing is under way in the handles of the chain.
  bool is_idle() const;
  BusyFlag& busy() { return busy_; }

  /// Where saving is collective, the communicator over which it is; else NULL.
  Communicator* peers() const;
  /// The parts of a file, by prefix: "optimizer/", "reducer/", and for every rank its own window,
  /// "rank/<r>/accumulator/". Collective over peers(), and a failure on one rank is one on all. They show the handles'
  /// own buffers: the caller has the Chain until they are written.
  std::map<std::string, SavedPart> save();
  /// What this rank has use for of the tensors of such a file that it does not take whole.
  TensorParts own_parts();
  /// Checks everything; what it returns takes it over, and fails only where a device does. The caller has the Chain
  /// until then.
  std::function<void()> load(const StateFile& file);

 private:
  /// Where the window stands that the next push or flush works on.
  enum class Window : std::uint8_t {
    open,     // takes micro-batches
    full,     // has ended; an attempt to apply it has failed
    reduced,  // its exchange is done, the step is missing
    stepped   // its local step is done, the exchange is missing
  };

  /// A window that has ended is still to be applied. The host may have reset the accumulator since.
  bool waits() const { return window_ != Window::open && (!accumulator_ || accumulator_->ready()); }
  void check_may_push() const;
  /// The ranks' gradients are averaged by their weights.
  bool averages_by_weight() const;
  bool finish_window(StepBuffers buffers, double weight);
  bool finish_pushed(const BufferList& params);
  void check_slices() const;
  /// `is_agreed`: in this call the ranks have compared what they must agree on.
  bool step(const StepBuffers& buffers, const double* norm, bool is_agreed);
  bool close_window(bool applied);

  /// Throws UNSUPPORTED for an accumulator whose windows end on each rank when they will.
  void check_windows_end_together(const Communicator& comm) const;
  void end_windows_together(Reducer& reducer);
  std::shared_ptr<Reducer> next_reducer(Communicator& comm, const Deadline& deadline);
  Standing standing() const;
  Replicated replicated() const;
  void go_on_from(const Recovery& recovery);

  // A failed exchange finds the local step done, so it is the exchange alone that is retried.
  bool finish_local(LocalSteps& local, StepBuffers buffers, double weight, const std::exception_ptr& failure);
  bool step_locally(LocalSteps& local, const StepBuffers& buffers, double weight);
  void exchange_locally(LocalSteps& local, const BufferList& params);
  /// Before local steps ranks vote on what is finite, and compare what they must agree on.
  bool votes_first() const;

  // What the ranks of the reducer must agree on (agreement.cpp).
  static constexpr std::size_t kFacts = 11;
  using Facts = std::array<std::uint64_t, kFacts>;
  Facts facts();
  std::uint64_t digest();
  bool agrees() const;
  std::exception_ptr refresh_hyper_parameters();
  [[noreturn]] void tell_difference(const std::exception_ptr& failure, const Deadline& deadline);
  bool agree(const std::exception_ptr& failure, bool is_finite);
  bool notes_serve() const;
  void compare_beside(const std::exception_ptr& failure, FunctionRef<void()> exchange);
  void exchange_gradients(const BufferList& grads, double weight, const std::exception_ptr& failure);

  /// At the optimizer's site.
  const double* norm_of(const BufferList& grads);
  bool finish_sharded(StepBuffers buffers, double weight);
  void check_exchanged() const;
  /// Ranks step by themselves: their optimizers' states differ.
  bool has_state_of_its_own() const;
  void add_of_all_ranks(std::map<std::string, SavedPart>& parts, std::string (*prefix)(std::int64_t rank),
                        const SavedPart& own);
  std::function<void()> load_reducer(const StateFile& file, std::int64_t saved_ranks);
  bool skip_nonfinite() const;
  StepGuards step_guards() const;

  std::shared_ptr<Context> context_;
  std::shared_ptr<Optimizer> optimizer_;
  std::shared_ptr<Accumulator> accumulator_;
  std::shared_ptr<Reducer> reducer_;
  gradstep_updater_options options_;
  std::uint64_t rule_;                        // of the optimizer and its options, as a number
  gradstep_reducer_options reducer_options_;  // of all its reducers; they stay while it has none
  gradstep_updater_statistics stats_{};
  BusyFlag busy_;
  Window window_ = Window::open;
  std::int64_t windows_ = 0;      // that are finished: the number of the one that comes, the same on all ranks
  std::int64_t known_skips_ = 0;  // the optimizer's skipped steps that stats_ has
  std::int64_t recoveries_ = 0;
  std::int64_t recovered_at_ = 0;    // windows_ at the last of them
  bool has_met_ = false;             // the ranks of this reducer have agreed once
  Buffer norm_;                      // of gradients that were not measured elsewhere
  std::optional<LocalSteps> local_;  // by sync: each rank steps before they exchange
};

}  // namespace gradstep
