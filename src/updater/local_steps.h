// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Each rank steps with its own gradients, and what travels comes after: the deltas of the step, or the parameters, all
// of them or one partition at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/own_plan.h"
#include "backend/parameter_arrays.h"
#include "gradstep/updater.h"
#include "optim/optimizer.h"
#include "reduce/reducer.h"

namespace gradstep {

class LocalSteps {
 public:
  /// `options.sync` is not GRADIENTS.
  LocalSteps(const Site& site, const gradstep_updater_options& options)
      : site_(site), sync_(options.sync), sync_steps_(options.sync_steps) {}

  /// Throws UNSUPPORTED for an optimizer or a reducer that cannot serve.
  void check(const Optimizer& optimizer, const Reducer& reducer) const;

  bool exchanges_deltas() const { return sync_ == GRADSTEP_SYNC_DELTAS; }

  /// This rank's own step with gradients that stand for `weight`: of the parameters, or, where deltas travel, aside.
  /// False if the guards have stopped it.
  bool step(Optimizer& optimizer, StepBuffers buffers, const StepGuards& guards, double weight);

  /// What the last step has changed, or where it has led, becomes that of all ranks, if it is time. Until this has
  /// returned the exchange may be repeated. `reducer` NULL = alone. True if a window of the reducer is left to commit.
  /// `run` runs what all ranks do.
  using Run = FunctionRef<void(FunctionRef<void()>)>;
  bool exchange(Reducer* reducer, const BufferList& params, Run run);

  /// The exchange of deltas by a rank that could not step: what it gives is not used.
  void take_part(const Optimizer& optimizer, Reducer& reducer);

  /// Steps since parameters were exchanged.
  std::int64_t count() const { return count_; }
  /// The partition of the parameters that is exchanged next.
  std::int64_t partition() const { return partition_; }
  /// Throws MISMATCH if `partition`, which a file or another rank has named, is none of the reducer's buckets.
  void check_partition(std::int64_t partition, const Reducer& reducer) const;
  void go_on_from(std::int64_t count, std::int64_t partition) {
    count_ = count;
    partition_ = partition;
  }

 private:
  void exchange_deltas(Reducer* reducer, const BufferList& params, Run run);
  void exchange_parameters(Reducer& reducer, const BufferList& params, Run run);

  const Site& site_;  // the optimizer's
  std::int32_t sync_;
  std::int32_t sync_steps_;
  double weight_ = 1;  // of the step that is not exchanged
  std::int64_t count_ = 0;
  std::int64_t partition_ = 0;
  ParameterArrays deltas_;
  OwnPlan<CombinePlan, CombineItem> additions_;  // of deltas to parameters
  BufferList added_params_, added_deltas_;       // that additions_ shows
};

}  // namespace gradstep
