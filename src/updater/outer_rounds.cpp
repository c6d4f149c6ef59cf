// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "updater/outer_rounds.h"

#include <algorithm>

#include "core/error.h"
#include "reduce/plan.h"
#include "updater/reduced_step.h"

namespace gradstep {

void check_round_shape(const RoundShape& shape) {
  if (shape.fragments < 1) fail_argument("options.outer_fragments: is {}, expected at least 1", shape.fragments);
  if (shape.delay < 0) fail_argument("options.outer_delay: is {}, expected at least 0", shape.delay);
  if (!(shape.mix >= 0 && shape.mix < 1)) fail_argument("options.outer_mix: is {}, expected 0 to below 1", shape.mix);
}

namespace {

void check(const RoundShape& shape, std::size_t buckets) {
  check_round_shape(shape);
  if (shape.windows % shape.fragments != 0) {
    fail_argument("options.outer_fragments: is {}, expected a divisor of sync_steps = {}", shape.fragments,
                  shape.windows);
  }
  if (static_cast<std::size_t>(shape.fragments) > buckets && shape.fragments > 1) {
    fail_argument(
        "options.outer_fragments: is {}, expected at most the {} buckets of the reducer: a smaller fuse_threshold "
        "makes more",
        shape.fragments, buckets);
  }
  const std::int32_t turn = shape.windows / shape.fragments;
  if (shape.delay >= turn) {
    fail_argument("options.outer_delay: is {}, expected 0 to sync_steps / outer_fragments - 1 = {}", shape.delay,
                  turn - 1);
  }
}

}  // namespace

OuterRounds::OuterRounds(std::shared_ptr<Optimizer> outer, const RoundShape& shape, std::int64_t fuse_threshold)
    : outer_(std::move(outer)), shape_(shape), fuse_threshold_(fuse_threshold) {
  check(shape, plan_buckets(outer_->schema(), fuse_threshold).size());
  weights_.resize(static_cast<std::size_t>(shape.fragments));
  fragments_.resize(weights_.size());
}

BufferList OuterRounds::start() {
  const Schema& schema = outer_->schema();
  const bool grows = start_.size() < schema.size();
  const BufferList start = start_.list(site(), schema);
  if (grows) divide(changes_.list(site(), schema));
  return start;
}

// The first buckets that a reducer packs have the last parameters.
void OuterRounds::divide(const BufferList& changes) {
  const std::vector<BucketPlan> buckets = plan_buckets(outer_->schema(), fuse_threshold_);
  const std::size_t last = buckets.size();
  for (std::size_t f = 0; f < fragments_.size(); ++f) {
    Fragment& fragment = fragments_[f];
    fragment.buckets = {last - (f + 1) * last / fragments_.size(), last - f * last / fragments_.size()};
    for (std::size_t i = 0; i < changes.size(); ++i) {
      Array none = changes[i];
      none.data = nullptr;
      fragment.changes.set(i, none);
    }
    fragment.parameters.clear();
    for (std::size_t b = fragment.buckets.first; b < fragment.buckets.end; ++b) {
      for (const std::size_t i : buckets[b].parameters) {
        fragment.parameters.push_back(i);
        fragment.changes.set(i, changes[i]);
      }
    }
  }
}

void OuterRounds::show(const BufferList& params) {
  if (params.size() != outer_->schema().size()) {
    fail(GRADSTEP_ERR_INVALID_STATE, "the outer optimizer has {} parameters, the optimizer {}: add them to both",
         outer_->schema().size(), params.size());
  }
  const BufferList start = this->start();
  if (params.shows_again(shown_)) return;
  keeps_.clear();
  for (std::size_t i = 0; i < params.size(); ++i) keeps_.add({start[i], params[i]}, params[i].size);
  for (Fragment& fragment : fragments_) {
    const BufferList changes = fragment.changes.list();
    fragment.restores.clear();
    fragment.differences.clear();
    fragment.mixtures.clear();
    for (const std::size_t i : fragment.parameters) {
      fragment.restores.add({params[i], start[i]}, params[i].size);
      fragment.differences.add({changes[i], start[i], params[i], 1, -1}, params[i].size);
      fragment.mixtures.add({params[i], start[i], params[i], 1 - shape_.mix, shape_.mix}, params[i].size);
    }
  }
  shown_ = params;
}

void OuterRounds::begin_window(const BufferList& params) {
  site().queue().check_not_capturing("the host counts the windows of a round");
  if (!is_under_way(standing())) kept_ = 0;
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
  for (double& sum : weights_) sum += weight;
  ++windows_;
}

void OuterRounds::prepare(const Reducer* reducer, const BufferList& params) {
  check_ranks(reducer);
  outer_->refresh();
  keep(params);
  site().backend().combine(due(rounds_).differences.plan(), site().queue());
}

void OuterRounds::check_ranks(const Reducer* reducer) const {
  if (!outer_->is_sharded()) return;
  const std::int32_t ranks = reducer != nullptr ? reducer->comm().world_size() : 1;
  const std::int32_t expected = outer_->sharding()->comm().world_size();
  if (ranks == expected) return;
  fail(GRADSTEP_ERR_INVALID_STATE, "the reducer has {} ranks, the outer optimizer's state is spread over {}", ranks,
       expected);
}

void OuterRounds::send(Reducer* reducer) {
  const std::size_t f = due_after(rounds_);
  const double weight = weights_[f] / static_cast<double>(windows_of(f, rounds_, windows_));
  const BufferList changes = fragments_[f].changes.list();
  if (reducer != nullptr && is_streaming()) reducer->send(fragments_[f].buckets, changes, weight);
  if (reducer != nullptr && !is_streaming()) reducer->exchange_window(changes, weight);
  is_sent_ = true;
}

void OuterRounds::receive(Reducer* reducer) {
  if (!is_sent_ || has_arrived_) return;
  if (reducer != nullptr && is_streaming()) {
    is_sent_ = false;
    reducer->receive(due(rounds_).changes.list());
    is_sent_ = true;
  }
  has_arrived_ = true;
}

bool OuterRounds::step(Reducer* reducer, const BufferList& params, bool skip_nonfinite) {
  show(params);
  Fragment& fragment = due(rounds_);
  if (!outcome_) {
    StepGuards guards;
    guards.skip_nonfinite = skip_nonfinite;
    Reducer* source = is_streaming() ? nullptr : reducer;
    const StepBuffers buffers{start_.list(), source != nullptr ? source->gradients() : fragment.changes.list(), {}};
    bool applied = step_reduced(*outer_, source, buffers, guards, /*is_agreed=*/source != nullptr);
    // A device decides by itself. What is not finite is not mixed, and leaves nothing in the reducer.
    const bool asks = shape_.mix > 0 || (is_streaming() && reducer != nullptr && reducer->layout().has_memory());
    if (asks && skip_nonfinite && !site().is_host()) applied = outer_->last_outcome().applied;
    outcome_ = applied;
  }
  if (shape_.mix > 0 && *outcome_) {
    site().backend().combine(fragment.mixtures.plan(), site().queue());
  } else {
    site().backend().copy(fragment.restores.plan(), 1, 1, site().queue());
  }
  const bool applied = *outcome_;
  Standing next{rounds_ + 1, 0, false, weights_};
  next.weights[due_after(rounds_)] = 0;
  go_on_from(next);
  return applied;
}

std::int64_t OuterRounds::windows_of(std::size_t fragment, std::int64_t rounds, std::int64_t windows) const {
  const std::int64_t since = (rounds + shape_.fragments - 1 - static_cast<std::int64_t>(fragment)) % shape_.fragments;
  return std::min(since, rounds) * turn() + windows;
}

double OuterRounds::mean_weight() const {
  double sum = 0;
  std::int64_t windows = 0;
  for (std::size_t f = 0; f < weights_.size(); ++f) {
    sum += weights_[f];
    windows += windows_of(f, rounds_, windows_);
  }
  return windows > 0 ? sum / static_cast<double>(windows) : 1;
}

OuterRounds::Standing OuterRounds::standing_at(std::int64_t rounds, std::int64_t windows, double weight) const {
  Standing standing{rounds, windows, false, {}};
  for (std::size_t f = 0; f < fragments_.size(); ++f) {
    standing.weights.push_back(weight * static_cast<double>(windows_of(f, rounds, windows)));
  }
  return standing;
}

void OuterRounds::go_on_from(const Standing& standing) {
  rounds_ = standing.rounds;
  windows_ = standing.windows;
  weights_ = standing.weights;
  is_sent_ = has_arrived_ = standing.has_arrived;
  outcome_.reset();
  kept_ = start_.size();
}

}  // namespace gradstep
