// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "updater/outer_rounds.h"

#include "core/error.h"
#include "updater/reduced_step.h"

namespace gradstep {

BufferList OuterRounds::start() {
  const Schema& schema = outer_->schema();
  const auto take = [&](OwnBuffers& list, std::size_t i) {
    const std::int64_t bytes = schema[i].size * size_of(schema[i].dtype);
    memory_.push_back(site().allocate(static_cast<std::size_t>(bytes), /*zeroed=*/true));
    list.set(i, compact_array(memory_.back().data(), schema[i].size, schema[i].dtype));
  };
  for (std::size_t i = memory_.size() / 2; i < schema.size(); ++i) {
    take(start_, i);
    take(deltas_, i);
  }
  return start_.list();
}

void OuterRounds::show(const BufferList& params) {
  if (params.size() != outer_->schema().size()) {
    fail(GRADSTEP_ERR_INVALID_STATE, "the outer optimizer has {} parameters, the optimizer {}: add them to both",
         outer_->schema().size(), params.size());
  }
  const BufferList start = this->start();
  if (params.shows_again(shown_)) return;
  keeps_.clear();
  restores_.clear();
  differences_.clear();
  const BufferList deltas = deltas_.list();
  for (std::size_t i = 0; i < params.size(); ++i) {
    keeps_.add({start[i], params[i]}, params[i].size);
    restores_.add({params[i], start[i]}, params[i].size);
    differences_.add({deltas[i], start[i], params[i], 1, -1}, params[i].size);
  }
  shown_ = params;
}

void OuterRounds::begin_window(const BufferList& params) {
  if (windows_ == 0) kept_ = 0;
  keep(params);
}

void OuterRounds::keep(const BufferList& params) {
  show(params);
  if (kept_ == 0) {
    site().backend().copy(keeps_.plan(), 1, 1, site().queue());
  } else {
    for (std::size_t i = kept_; i < params.size(); ++i) site().copy(keeps_.items()[i].destination, params[i]);
  }
  kept_ = params.size();
}

void OuterRounds::end_window(double weight) {
  weights_ += weight;
  ++windows_;
}

void OuterRounds::prepare(const Reducer* reducer, const BufferList& params) {
  check_ranks(reducer);
  outer_->refresh();
  keep(params);
  site().backend().combine(differences_.plan(), site().queue());
}

void OuterRounds::check_ranks(const Reducer* reducer) const {
  if (!outer_->is_sharded()) return;
  const std::int32_t ranks = reducer != nullptr ? reducer->comm().world_size() : 1;
  const std::int32_t expected = outer_->sharding()->comm().world_size();
  if (ranks == expected) return;
  fail(GRADSTEP_ERR_INVALID_STATE, "the reducer has {} ranks, the outer optimizer's state is spread over {}", ranks,
       expected);
}

void OuterRounds::exchange(Reducer* reducer) {
  if (reducer != nullptr) reducer->exchange_window(deltas_.list(), weights_ / static_cast<double>(windows_));
}

bool OuterRounds::step(Reducer* reducer, const BufferList& params, bool skip_nonfinite) {
  show(params);
  if (!outcome_) {
    StepGuards guards;
    guards.skip_nonfinite = skip_nonfinite;
    const StepBuffers buffers{start_.list(), reducer != nullptr ? reducer->gradients() : deltas_.list(), {}};
    outcome_ = step_reduced(*outer_, reducer, buffers, guards, /*is_agreed=*/reducer != nullptr);
  }
  site().backend().copy(restores_.plan(), 1, 1, site().queue());
  const bool applied = *outcome_;
  go_on_from(rounds_ + 1, 0, 0);
  return applied;
}

void OuterRounds::go_on_from(std::int64_t rounds, std::int64_t windows, double weights) {
  rounds_ = rounds;
  windows_ = windows;
  weights_ = weights;
  outcome_.reset();
  kept_ = memory_.size() / 2;
}

}  // namespace gradstep
