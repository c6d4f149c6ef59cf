// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Accumulator, reducer and optimizer chained: what Lingvo's GradientAggregationOptimizer and SINGA's DistOpt do in one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "accumulate/accumulator.h"
#include "core/busy_flag.h"
#include "core/state_file.h"
#include "gradstep/updater.h"
#include "optim/optimizer.h"
#include "reduce/reducer.h"

namespace gradstep {

gradstep_updater_options default_updater_options();

class Updater {
 public:
  /// accumulator and reducer may be NULL.
  Updater(std::shared_ptr<Context> context, std::shared_ptr<Optimizer> optimizer,
          std::shared_ptr<Accumulator> accumulator, std::shared_ptr<Reducer> reducer,
          const gradstep_updater_options& options);
  Updater(const Updater&) = delete;
  Updater& operator=(const Updater&) = delete;

  /// Both return whether parameters were stepped.
  bool push(const gradstep_tensor* params, const gradstep_tensor* grads, std::size_t n, double weight);
  bool flush(const gradstep_tensor* params, std::size_t n);
  void recover(Communicator* comm, const gradstep_tensor* params, std::size_t n);

  const gradstep_updater_statistics& stats() const { return stats_; }
  BusyFlag& busy() { return busy_; }

  /// Where saving is collective, the communicator over which it is; else NULL.
  Communicator* peers() const;
  void check_exchanged();
  /// The parts of a file, by prefix: "optimizer/", "reducer/", and for every rank its own window,
  /// "rank/<r>/accumulator/". Collective over peers().
  std::map<std::string, SavedPart> save();
  /// Checks everything; what it returns takes it over and cannot fail.
  std::function<void()> load(const StateFile& file);

 private:
  class Chain;  // exclusive use of the three handles during a call

  bool finish_window(const gradstep_tensor* params, const gradstep_tensor* grads, std::size_t n, double weight);
  bool step(const gradstep_tensor* params, const gradstep_tensor* grads, std::size_t n, const double* norm);
  bool close_window(bool applied);
  void forget_window() { pending_ = reduced_ = stepped_ = false; }

  // Steps before exchanges (local_steps.cpp).
  void check_local_steps(const Reducer& reducer) const;
  void prepare_deltas();
  bool finish_local(const gradstep_tensor* params, const gradstep_tensor* grads, std::size_t n, double weight);
  /// Ranks that are a step apart would average different partitions: all go on with rank 0's.
  void agree_on_partition(Communicator& comm);
  bool step_locally(const gradstep_tensor* params, const gradstep_tensor* grads, std::size_t n);
  double norm_of(const gradstep_tensor* grads, std::size_t n) const;
  void exchange_deltas(const gradstep_tensor* params, std::size_t n);
  void exchange_parameters(const gradstep_tensor* params, std::size_t n);
  bool finish_sharded(const gradstep_tensor* params, const gradstep_tensor* grads, std::size_t n, double weight);
  void add_of_all_ranks(std::map<std::string, SavedPart>& parts, std::string (*prefix)(std::int32_t rank),
                        const SavedPart& own);
  std::function<void()> load_reducer(const StateFile& file, std::int32_t saved_ranks);
  bool skip_nonfinite() const;
  StepGuards step_guards() const;

  std::shared_ptr<Context> context_;
  std::shared_ptr<Optimizer> optimizer_;
  std::shared_ptr<Accumulator> accumulator_;
  std::shared_ptr<Reducer> reducer_;
  gradstep_updater_options options_;
  gradstep_updater_statistics stats_{};
  BusyFlag busy_;
  std::vector<gradstep_tensor> views_;
  bool pending_ = false;          // a READY window has not been applied
  bool reduced_ = false;          // of a pending window: its exchange is done, only the step is missing
  bool stepped_ = false;          // of a pending window: its local step is done, only the exchange is missing
  double weight_ = 1;             // of that step
  std::int64_t local_steps_ = 0;  // since parameters were exchanged
  std::int64_t partition_ = 0;    // of the parameters, the next one to be exchanged
  std::vector<Buffer> delta_buffers_;
  std::vector<gradstep_tensor> deltas_;  // by parameter, of the local step
};

}  // namespace gradstep
