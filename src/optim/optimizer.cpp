// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/optimizer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "comm/all_or_none.h"
#include "core/error.h"
#include "kernels/block_code.h"

namespace gradstep {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

void check_at_least_zero(const char* argument, double value) {
  if (!(value >= 0) || !std::isfinite(value)) {
    fail_argument("{}: is {}, expected a finite number of at least 0", argument, value);
  }
}

}  // namespace

void check_guards(const StepGuards& guards) {
  if (!std::isfinite(guards.grad_scale)) {
    fail_argument("options.grad_scale: is {}, expected a finite number", guards.grad_scale);
  }
  check_at_least_zero("options.max_norm", guards.max_norm);
  check_at_least_zero("options.clip_value", guards.clip_value);
}

Optimizer::Optimizer(std::shared_ptr<Context> context, Schema schema, std::span<const HyperParameterField> fields,
                     std::span<const double> values)
    : context_(std::move(context)),
      schema_(std::move(schema)),
      hyper_parameters_(fields, values, schema_.group_count()) {
  for (const Parameter& parameter : schema_) work_.append(parameter.size);
}

void Optimizer::take(const StepBuffers& buffers) {
  const bool in_place = buffers.updates.empty();
  const bool again = buffers.params.shows_again(buffers_.params) && buffers.grads.shows_again(buffers_.grads) &&
                     (in_place ? buffers_.updates.empty() : buffers.updates.shows_again(buffers_.updates));
  if (again && !buffers_changed_) return;
  if (!in_place) check_gives_updates();
  buffers_ = buffers;
  buffers_changed_ = true;
}

void Optimizer::take_hyper_parameters() {
  if (!std::exchange(refreshed_, false)) hyper_parameters_.refresh(step_count_);
}

double Optimizer::gradient_norm() {
  squares_.resize(work_.chunks().size());
  context_->backend().square_chunks(work_, buffers_.grads.arrays, squares_);
  return std::sqrt(fold_partials(squares_));
}

void Optimizer::write_zero_updates() {
  std::vector<CopyItem> items(buffers_.updates.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    items[i].destination = buffers_.updates[i];
    items[i].source.size = buffers_.updates[i].size;
  }
  context_->backend().copy(work_, items, 1, 1);
}

void Optimizer::check_state_is_whole() const {
  if (lost_) {
    fail(GRADSTEP_ERR_INVALID_STATE,
         "optimizer: an exchange of its sharded state failed: attach a communicator (or none) and load a saved state");
  }
  if (torn_) {
    fail(GRADSTEP_ERR_INVALID_STATE,
         "optimizer: a step was broken off half-way: load a saved state and set the parameters to those saved with it");
  }
}

/// True if the step is not to be done. outcome.grad_norm is NaN where nobody knows it.
bool Optimizer::skips(const StepGuards& guards, StepOutcome& outcome) {
  bool skip = false;
  if ((guards.skip_nonfinite || guards.found_inf != nullptr) && !std::isfinite(outcome.grad_norm)) {
    skip = true;
    if (guards.found_inf != nullptr) *guards.found_inf = 1;
  }
  if (guards.found_inf != nullptr && *guards.found_inf != 0) skip = true;
  if (skip) {
    if (!buffers_.updates.empty()) write_zero_updates();
    ++skipped_steps_;
  }
  return skip;
}

void Optimizer::apply_guarded(const StepGuards& guards, StepOutcome& outcome) {
  if (guards.max_norm > 0) {
    // A NaN norm makes the coefficient NaN, as PyTorch's clamp does: the gradients' NaNs are not hidden.
    const double coefficient = guards.max_norm / (std::abs(guards.grad_scale) * outcome.grad_norm + 1e-6);
    outcome.clip_coefficient = coefficient > 1 ? 1 : coefficient;
  }
  change_state([&] { apply(guards.grad_scale * outcome.clip_coefficient, guards.clip_value); });
}

/// What fails before its first loop has begun has changed nothing.
void Optimizer::change_state(FunctionRef<void()> body) {
  const std::int64_t before = context_->loops_begun();
  try {
    body();
  } catch (...) {
    torn_ = torn_ || context_->loops_begun() != before;
    throw;
  }
}

StepOutcome Optimizer::step(const StepBuffers& buffers, const StepGuards& guards) {
  if (is_sharded()) return step_sharded(buffers, guards, sharding_->default_exchange());
  take(buffers);
  check_state_is_whole();
  take_hyper_parameters();
  StepOutcome outcome;
  outcome.grad_norm = kNan;
  if (guards.grad_norm != nullptr) {
    outcome.grad_norm = *guards.grad_norm;
  } else if (guards.max_norm > 0 || guards.skip_nonfinite || guards.found_inf != nullptr) {
    outcome.grad_norm = gradient_norm();
  }
  if (skips(guards, outcome)) return outcome;
  apply_guarded(guards, outcome);
  buffers_changed_ = false;
  ++step_count_;
  outcome.applied = true;
  return outcome;
}

StepOutcome Optimizer::step_sharded(const StepBuffers& buffers, const StepGuards& guards,
                                    const GradientExchange& exchange) {
  take(buffers);
  check_state_is_whole();
  take_hyper_parameters();
  Sharding& sharding = *sharding_;
  StepOutcome outcome;
  outcome.grad_norm = kNan;
  try {
    const Deadline deadline = sharding.comm().deadline();
    Sharding::Agreement own;
    own.found_inf = guards.found_inf != nullptr && *guards.found_inf != 0;
    own.wants_norm =
        guards.grad_norm == nullptr && (guards.max_norm > 0 || guards.skip_nonfinite || guards.found_inf != nullptr);
    const Sharding::Agreement agreed = sharding.bring_gradients(buffers_.grads.arrays, exchange, own, deadline);
    if (exchange.needs_gradient && !agreed.any_gradient) return outcome;
    if (guards.found_inf != nullptr && agreed.found_inf) *guards.found_inf = 1;
    if (guards.grad_norm != nullptr) outcome.grad_norm = *guards.grad_norm;
    if (agreed.wants_norm) outcome.grad_norm = sharding.norm(deadline);
    if (agreed.found_inf && guards.found_inf == nullptr) {
      if (!buffers_.updates.empty()) write_zero_updates();
      ++skipped_steps_;
      return outcome;
    }
    if (skips(guards, outcome)) return outcome;
    if (has_slices()) sharding.stage(buffers_.params.arrays);
    buffers_changed_ = true;
    apply_guarded(guards, outcome);
    if (has_slices())
      sharding.publish(buffers_.updates.empty() ? buffers_.params.arrays : buffers_.updates.arrays, deadline);
  } catch (...) {
    if (torn_) sharding.comm().abort();  // the other ranks cannot go on without this one's share
    lost_ = sharding.comm().status().code != GRADSTEP_OK;
    throw;
  }
  ++step_count_;
  outcome.applied = true;
  return outcome;
}

// All ranks take the new sharding or none does: those that share the state now, and those that are to share it. Ranks
// whose channel is lost can agree on nothing; they leave it one by one.
void Optimizer::attach(Communicator* comm, const gradstep_sharding_options& options) {
  if (comm == nullptr && !is_sharded()) return;  // views of the state stay valid
  Communicator* present = is_sharded() && !lost_ ? &sharding_->comm() : nullptr;
  std::shared_ptr<Communicator> channel;
  if (comm != nullptr) channel = comm->private_channel(comm->deadline());
  const auto agree = [&](const char* what, FunctionRef<void()> body) {
    all_or_none(present, what, [&] { all_or_none(channel.get(), what, body); });
  };
  std::unique_ptr<Sharding> next;
  if (channel != nullptr) {
    agree("share the state", [&] {
      next = std::make_unique<Sharding>(context_, channel, schema_, sharding_key(), step_count_, options, dealing());
    });
  }
  try {
    agree("take over its part of the state", [&] { prepare_slices(next.get(), /*keep=*/!lost_); });
  } catch (...) {
    discard_slices();
    throw;
  }
  sharding_ = std::move(next);
  commit_slices();
  buffers_ = {};
}

Buffer Optimizer::gather(const StoredState& stored) const {
  const std::int64_t bytes = stored.total * size_of(stored.array.dtype);
  Buffer whole = context_->allocate(static_cast<std::size_t>(bytes), /*zeroed=*/false);
  gather(stored, whole.data());
  return whole;
}

void Optimizer::gather(const StoredState& stored, void* whole) const {
  if (is_sharded() && stored.owner >= 0) {
    Communicator& comm = sharding_->comm();
    const std::int64_t bytes = stored.total * size_of(stored.array.dtype);
    if (stored.owner == comm.rank()) std::memcpy(whole, stored.array.data, static_cast<std::size_t>(bytes));
    comm.broadcast(whole, bytes, stored.owner, comm.deadline());
  } else if (has_slices()) {
    sharding_->gather(stored.parameter, stored.array, stored.is_blocked ? kernels::kCodeBlock : 1, whole,
                      sharding_->comm().deadline());
  } else if (stored.array.bytes() > 0) {
    std::memcpy(whole, stored.array.data, static_cast<std::size_t>(stored.array.bytes()));
  }
}

void Optimizer::set_schedule(std::int32_t group, const char* name, const Schedule& schedule) {
  const std::size_t field = hyper_parameters_.field(name);
  hyper_parameters_.check_group(group);
  HyperParameters changed = hyper_parameters_;
  changed.set(group, field, schedule);
  for (std::int32_t g = 0; g < changed.group_count(); ++g)
    check_schedules({&changed.schedule(g, 0), changed.field_count()});
  prepare(schema_, changed);
  buffers_ = {};
  refreshed_ = false;
  hyper_parameters_ = std::move(changed);
}

double Optimizer::get_value(std::int32_t group, const char* name) const {
  const std::size_t field = hyper_parameters_.field(name);
  hyper_parameters_.check_group(group);
  return hyper_parameters_.evaluate(group == -1 ? 0 : group, field, step_count_);
}

void Optimizer::add_parameters(const gradstep_parameter* parameters, std::size_t n) {
  if (is_sharded()) {
    fail(GRADSTEP_ERR_INVALID_STATE, "optimizer: is sharded: attach no communicator first, and this one again after");
  }
  Schema grown = schema_;
  grown.append(parameters, n);
  HyperParameters changed = hyper_parameters_;
  changed.grow(grown.group_count());
  prepare(grown, changed);
  buffers_ = {};
  refreshed_ = false;
  // Appending to the live schema keeps the addresses of the shapes that views point to.
  schema_.append(parameters, n);
  hyper_parameters_ = std::move(changed);
  for (std::size_t i = schema_.size() - n; i < schema_.size(); ++i) work_.append(schema_[i].size);
}

void Optimizer::set_step_count(std::int64_t count) {
  if (count < 0) fail_argument("count: is {}, expected at least 0", count);
  finish_pending();
  step_count_ = count;
  refreshed_ = false;
}

void Optimizer::set_counters(std::int64_t steps, std::int64_t skipped) {
  step_count_ = steps;
  skipped_steps_ = skipped;
  lost_ = torn_ = refreshed_ = false;
  state_replaced();
}

std::int64_t Optimizer::other_bytes() const {
  return (is_sharded() ? sharding_->bytes() : 0) +
         static_cast<std::int64_t>(squares_.capacity() * sizeof(double) + work_.chunks().size() * sizeof(Chunk) +
                                   schema_.size() * sizeof(Parameter));
}

void Optimizer::copy_state(Optimizer& source) {
  if (std::string(kind()) != source.kind()) {
    fail(GRADSTEP_ERR_MISMATCH, "source: is {}, destination is {}", source.kind(), kind());
  }
  source.check_state_is_whole();
  if (const std::string difference = schema_.difference(source.schema_); !difference.empty()) {
    fail(GRADSTEP_ERR_MISMATCH, "destination and source: {}", difference);
  }
  const std::vector<StoredState> to = stored_states();
  const std::vector<StoredState> from = source.stored_states();
  const auto same = [](const StoredState& a, const StoredState& b) {
    return a.array.size == b.array.size && a.array.dtype == b.array.dtype;
  };
  if (!std::equal(to.begin(), to.end(), from.begin(), from.end(), same)) {
    fail(GRADSTEP_ERR_MISMATCH, "destination has {} state buffers, source has {} (momentum absent in one of them?)",
         to.size(), from.size());
  }
  WorkList work;
  std::vector<CopyItem> items;
  for (std::size_t i = 0; i < to.size(); ++i) {
    work.append(to[i].array.size);
    items.push_back({to[i].array, from[i].array});
  }
  change_state([&] { context_->backend().copy(work, items, 1, 1); });
  set_state_flags(source.state_flags());
  set_counters(source.step_count_, source.skipped_steps_);
}

}  // namespace gradstep
