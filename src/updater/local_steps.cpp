// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Each rank steps with its own gradients, and what travels comes after: the deltas of the step, or the parameters, all
// of them or one partition at a time. A failed exchange finds the step done, so it is the exchange alone that is
// retried.
#include <cmath>
#include <limits>

#include "core/error.h"
#include "updater/chain.h"

namespace gradstep {

void Updater::check_local_steps(const Reducer& reducer) const {
  if (optimizer_->is_sharded()) {
    fail(GRADSTEP_ERR_UNSUPPORTED, "options.sync: a sharded optimizer steps with reduced gradients, expected 0");
  }
  if (options_.sync == GRADSTEP_SYNC_DELTAS) {
    optimizer_->check_gives_updates();
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

void Updater::prepare_deltas() {
  const Schema& schema = optimizer_->schema();
  for (std::size_t i = delta_buffers_.size(); i < schema.size(); ++i) {
    const std::int64_t bytes = schema[i].size * size_of(schema[i].dtype);
    delta_buffers_.push_back(context_->allocate(static_cast<std::size_t>(bytes), /*zeroed=*/false));
    deltas_.set(i, compact_array(delta_buffers_.back().data(), schema[i].size, schema[i].dtype));
  }
}

bool Updater::finish_local(StepBuffers buffers, double weight) {
  const bool is_delta = options_.sync == GRADSTEP_SYNC_DELTAS;
  const bool was_stepped = window_ == Window::stepped;
  if (!was_stepped) {
    if (accumulator_) {
      buffers.grads = accumulator_->results();
      weight = accumulator_->weight();
    }
    if (!step_locally(buffers)) return close_window(false);
    weight_ = weight;
    window_ = Window::stepped;
    ++local_steps_;
  }
  try {
    // A peer may have failed before its step, and now asks first.
    if (was_stepped && reducer_ && skip_nonfinite() && !all_finite(true)) return close_window(false);
    if (is_delta) {
      exchange_deltas(buffers.params);
    } else if (reducer_ && local_steps_ >= options_.sync_steps) {
      exchange_parameters(buffers.params);
    }
  } catch (const Error& error) {
    fail(error.status(), "{} ({})", error.what(),
         is_delta ? "the optimizer's state is one step ahead of the parameters: flush finishes the exchange"
                  : "the local step stands: flush finishes the exchange");
  }
  return close_window(true);
}

/// Ranks that skip what is not finite do so together: their step counts stay equal.
bool Updater::step_locally(StepBuffers buffers) {
  if (options_.sync == GRADSTEP_SYNC_DELTAS) {
    prepare_deltas();
    buffers.updates = deltas_.list();
  }
  const Stopwatch stopwatch(stats_.step_nanoseconds);
  StepGuards guards = step_guards();
  if (accumulator_) guards.grad_norm = accumulator_->norm();
  double norm = 0;
  if (guards.skip_nonfinite) {
    norm = guards.grad_norm != nullptr ? *guards.grad_norm : norm_of(buffers.grads);
    guards.grad_norm = &norm;
    if (!all_finite(std::isfinite(norm))) norm = std::numeric_limits<double>::quiet_NaN();
  }
  return optimizer_->step(buffers, guards).applied;
}

bool Updater::all_finite(bool own_is) {
  Communicator& comm = reducer_->comm();
  return comm.vote(own_is, comm.deadline());
}

double Updater::norm_of(const BufferList& grads) const {
  WorkList work;
  for (const Array& grad : grads) work.append(grad.size);
  std::vector<double> squares(work.chunks().size());
  context_->backend().square_chunks(work, grads.arrays, squares);
  return std::sqrt(fold_partials(squares));
}

void Updater::exchange_deltas(const BufferList& params) {
  const Stopwatch stopwatch(stats_.reduce_nanoseconds);
  if (reducer_) reducer_->exchange_window(deltas_.list().arrays, weight_);
  const BufferList reduced = reducer_ ? reducer_->gradients() : deltas_.list();
  std::vector<CombineItem> items;
  WorkList work;
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (reduced[i].data == nullptr) continue;
    items.push_back({params[i], params[i], reduced[i]});
    work.append(params[i].size);
  }
  context_->backend().combine(work, items);
  window_ = Window::reduced;
}

// Gradients of one partition at a time would not do: what a rank has learnt from the others would depend on the
// partition. Parameters carry it along.
void Updater::exchange_parameters(const BufferList& params) {
  const Stopwatch stopwatch(stats_.reduce_nanoseconds);
  if (options_.sync == GRADSTEP_SYNC_PARAMETERS) {
    reducer_->reduce(params.arrays, params.arrays, weight_);
  } else {
    reducer_->reduce_bucket(static_cast<std::size_t>(partition_), params.arrays, weight_);
    partition_ = (partition_ + 1) % static_cast<std::int64_t>(reducer_->bucket_count());
  }
  local_steps_ = 0;
}

}  // namespace gradstep
