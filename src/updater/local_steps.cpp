// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "updater/local_steps.h"

#include "core/absence.h"
#include "core/error.h"

namespace gradstep {

void LocalSteps::check(const Optimizer& optimizer, const Reducer& reducer) const {
  if (optimizer.is_sharded()) {
    fail(GRADSTEP_ERR_UNSUPPORTED, "options.sync: a sharded optimizer steps with reduced gradients, expected 0");
  }
  if (exchanges_deltas()) {
    optimizer.check_gives_updates();
    return;
  }
  const gradstep_reducer_options& options = reducer.options();
  if (options.mode != GRADSTEP_REDUCER_DENSE) {
    fail(GRADSTEP_ERR_UNSUPPORTED, "options.sync: parameters are averaged by a dense reducer, this one has mode {}",
         options.mode);
  }
  if (options.average == GRADSTEP_AVERAGE_SUM) {
    fail(GRADSTEP_ERR_UNSUPPORTED, "options.sync: parameters are averaged, and the reducer sums");
  }
}

void LocalSteps::check_partition(std::int64_t partition, const Reducer& reducer) const {
  if (sync_ != GRADSTEP_SYNC_PARAMETERS_PARTIAL) return;
  if (partition < static_cast<std::int64_t>(reducer.layout().buckets().size())) return;
  fail(GRADSTEP_ERR_MISMATCH,
       "the updater stands at partition {} of the parameters, and its reducer has {}: was it made with another "
       "fuse_threshold?",
       partition, reducer.layout().buckets().size());
}

bool LocalSteps::step(Optimizer& optimizer, StepBuffers buffers, const StepGuards& guards, double weight) {
  if (exchanges_deltas()) {
    buffers.updates = deltas_.list(site_, optimizer.schema());
  }
  if (!optimizer.step(buffers, guards).applied) return false;
  weight_ = weight;
  ++count_;
  return true;
}

bool LocalSteps::exchange(Reducer* reducer, const BufferList& params, Run run) {
  if (exchanges_deltas()) {
    exchange_deltas(reducer, params, run);
    return true;
  }
  if (reducer != nullptr && count_ >= sync_steps_) exchange_parameters(*reducer, params, run);
  return false;
}

void LocalSteps::take_part(const Optimizer& optimizer, Reducer& reducer) {
  reducer.exchange_window(deltas_.list(site_, optimizer.schema()), weight_);
}

void LocalSteps::exchange_deltas(Reducer* reducer, const BufferList& params, Run run) {
  if (reducer != nullptr) run([&] { reducer->exchange_window(deltas_.list(), weight_); });
  const BufferList reduced = reducer != nullptr ? reducer->gradients() : deltas_.list();
  if (!params.shows_again(added_params_) || !reduced.shows_again(added_deltas_)) {
    added_params_ = added_deltas_ = {};
    additions_.clear();
    for (std::size_t i = 0; i < params.size(); ++i) {
      if (!is_absent(reduced[i])) additions_.add({params[i], params[i], reduced[i]}, params[i].size);
    }
    added_params_ = params;
    added_deltas_ = reduced;
  }
  site_.backend().combine(additions_.plan(), site_.queue());
}

// Gradients of one partition at a time would not do: what a rank has learnt from the others would depend on the
// partition. Parameters carry it along.
void LocalSteps::exchange_parameters(Reducer& reducer, const BufferList& params, Run run) {
  if (sync_ == GRADSTEP_SYNC_PARAMETERS) {
    run([&] { reducer.reduce(params, params, weight_); });
  } else {
    const auto bucket = static_cast<std::size_t>(partition_);
    run([&] {
      reducer.send({bucket, bucket + 1}, params, weight_);
      reducer.receive(params);
      reducer.commit();
    });
    partition_ = (partition_ + 1) % static_cast<std::int64_t>(reducer.layout().buckets().size());
  }
  count_ = 0;
}

}  // namespace gradstep
