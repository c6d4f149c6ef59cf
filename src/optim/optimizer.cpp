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
#include "core/shape.h"
#include "kernels/block_code.h"

namespace gradstep {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

void check_at_least_zero(const char* argument, double value) {
  if (!(value >= 0) || !std::isfinite(value)) {
    fail_argument("{}: is {}, expected a finite number of at least 0", argument, value);
  }
}

StepOutcome outcome_of(const kernels::StepScalars& scalars) {
  StepOutcome outcome;
  outcome.applied = scalars.gate != 0;
  outcome.grad_norm = scalars.norm;
  outcome.clip_coefficient = scalars.clip_coefficient;
  return outcome;
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
      site_(context_->site(schema)),
      schema_(std::move(schema)),
      hyper_parameters_(fields, values, schema_.group_count()),
      scalars_(site_.allocate(sizeof(kernels::StepScalars), /*zeroed=*/true)) {
  for (const Parameter& parameter : schema_) work_.append(parameter.size);
  step_plan_.gradients.work = &work_;
  step_plan_.fields = static_cast<std::int32_t>(fields.size());
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

/// Where steps are queued, t is the device's: it evaluates schedules that need no host. For others the host waits, and
/// for rules whose constants it writes.
bool Optimizer::is_evaluated_here() const {
  return site_.is_host() || step_plan_.rule.family == kernels::RuleForm::Family::none || hyper_parameters_.needs_host();
}

void Optimizer::take_hyper_parameters() {
  if (std::exchange(refreshed_, false)) return;
  if (is_evaluated_here()) {
    hyper_parameters_.refresh(t(), &site_.queue());
  } else if (step_plan_.forms.empty()) {
    forms_ = hyper_parameters_.forms();
    step_plan_.forms = forms_;
    step_plan_.prepared.forget();
  }
}

void Optimizer::write_zero_updates() {
  if (buffers_.updates.empty()) return;
  std::vector<CopyItem> items(buffers_.updates.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    items[i].destination = buffers_.updates[i];
    items[i].source.size = buffers_.updates[i].size;
  }
  site_.backend().copy({&work_, items, {}}, 1, 1, site_.queue());
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

void Optimizer::begin_step(const StepGuards& guards) {
  step_plan_.gradients.arrays = buffers_.grads;
  const double* values = is_evaluated_here() ? hyper_parameters_.all_values().data() : nullptr;
  site_.backend().begin_step(step_plan_, guards, values, scalars(), site_.queue());
  if (!clock_) return;
  if (is_evaluated_here() && guards.is_decided_by_host()) {
    kernels::decide(guards, kNan, *clock_);
  } else {
    clock_.reset();
  }
}

void Optimizer::apply_guarded(double clip_value) {
  change_state([&] { apply(clip_value); });
  if (clock_) kernels::close_step(*clock_);
}

/// To the log.
void Optimizer::tell_skipped(const StepGuards& guards, const StepOutcome& outcome) const {
  Log& log = context_->log();
  if (guards.skip_nonfinite && !std::isfinite(outcome.grad_norm)) {
    log.write(GRADSTEP_LOG_WARNING, "optimizer {}: step {} was skipped: the norm of its gradients is {}", kind(),
              scalars()->steps + 1, outcome.grad_norm);
  } else {
    log.write(GRADSTEP_LOG_WARNING, "optimizer {}: step {} was skipped: found_inf is set", kind(),
              scalars()->steps + 1);
  }
}

/// Where work is queued nobody knows it yet.
StepOutcome Optimizer::outcome(const StepGuards& guards) const {
  if (site_.is_host()) {
    const StepOutcome known = outcome_of(*scalars());
    if (!known.applied) tell_skipped(guards, known);
    return known;
  }
  StepOutcome outcome;
  outcome.applied = !guards.skip;
  outcome.grad_norm = kNan;
  return outcome;
}

const kernels::StepScalars& Optimizer::clock() const {
  if (site_.is_host()) return *scalars();
  if (!clock_) clock_ = awaited_scalars();
  return *clock_;
}

StepOutcome Optimizer::last_outcome() const { return outcome_of(awaited_scalars()); }

/// On the host a hyper-parameter is checked before anything happens; a device says afterwards, and once for each step
/// that was not made, which one it was.
kernels::StepScalars Optimizer::awaited_scalars() const {
  const kernels::StepScalars last = read(site_.queue(), scalars());
  if (last.failure == 0) return last;
  write(site_.queue(), &scalars()->failure, std::uint32_t{0});
  const std::size_t position = last.failure - 1;
  const std::size_t fields = hyper_parameters_.field_count();
  fail(GRADSTEP_ERR_NUMERIC, "{} of group {} at step {}: is out of its range, and the steps since were not made",
       hyper_parameters_.names()[position % fields], position / fields, last.steps);
}

/// What fails before its first loop has begun has changed nothing.
void Optimizer::change_state(FunctionRef<void()> body) {
  const std::int64_t before = context_->loops_begun();
  try {
    body();
  } catch (...) {
    if (!torn_ && context_->loops_begun() != before) {
      torn_ = true;
      context_->log().write(GRADSTEP_LOG_ERROR, "optimizer {}: a step was broken off half-way", kind());
    }
    throw;
  }
}

StepOutcome Optimizer::step(const StepBuffers& buffers, const StepGuards& guards) {
  if (is_sharded()) return step_sharded(buffers, guards, sharding_->default_exchange());
  take(buffers);
  check_state_is_whole();
  take_hyper_parameters();
  begin_step(guards);
  apply_guarded(guards.clip_value);
  buffers_changed_ = false;
  return outcome(guards);
}

StepOutcome Optimizer::step_sharded(const StepBuffers& buffers, const StepGuards& asked,
                                    const GradientExchange& exchange) {
  take(buffers);
  check_state_is_whole();
  take_hyper_parameters();
  Sharding& sharding = *sharding_;
  StepGuards guards = asked;
  bool has_stepped = false;
  try {
    const Deadline deadline = sharding.comm().deadline();
    Sharding::Agreement own;
    own.found_inf = guards.found_inf != nullptr && read(site_.queue(), guards.found_inf) != 0;
    own.wants_norm = guards.norm == nullptr && guards.depends_on_norm();
    const Sharding::Agreement agreed = sharding.bring_gradients(buffers_.grads, exchange, own, deadline);
    if (exchange.needs_gradient && !agreed.any_gradient) {
      StepOutcome nothing;
      nothing.grad_norm = kNan;
      return nothing;
    }
    if (guards.found_inf != nullptr && agreed.found_inf) write(site_.queue(), guards.found_inf, 1.0F);
    if (agreed.wants_norm) guards.norm = sharding.norm(deadline);
    guards.skip = agreed.found_inf;
    sharding.data().settle(deadline);
    const std::uint64_t shown = sharding.gradients().version;
    buffers_changed_ = buffers_changed_ || shown == 0 || shown != stepped_gradients_;
    begin_step(guards);
    if (site_.is_host() && !gate_is_open()) {
      write_zero_updates();
      return outcome(guards);
    }
    if (has_slices()) sharding.stage(buffers_.params);
    apply_guarded(guards.clip_value);
    has_stepped = true;
    buffers_changed_ = false;
    stepped_gradients_ = shown;
    if (has_slices()) sharding.publish(buffers_.updates.empty() ? buffers_.params : buffers_.updates, deadline);
  } catch (...) {
    torn_ = torn_ || has_stepped;  // not all of the parameters are where the state is
    // The other ranks cannot go on without this one's share, and would take its next exchange for this one.
    if (torn_ || is_of_this_rank(translate_exception())) sharding.comm().abort();
    lost_ = sharding.comm().status().code != GRADSTEP_OK;
    throw;
  }
  return outcome(guards);
}

// All ranks take the new sharding or none does: those that share the state now, and those that are to share it. Ranks
// whose channel is lost can agree on nothing; they leave it one by one.
void Optimizer::attach(Communicator* comm, const gradstep_sharding_options& options) {
  if (comm == nullptr && !is_sharded()) return;  // views of the state stay valid
  Communicator* present = is_sharded() && !lost_ ? &sharding_->comm() : nullptr;
  std::shared_ptr<Communicator> channel;
  const Deadline deadline = comm != nullptr ? comm->deadline() : sharding_->comm().deadline();
  if (comm != nullptr) channel = comm->private_channel(deadline);
  const auto agree = [&](const char* what, FunctionRef<void()> body) {
    all_or_none(present, what, deadline, [&] { all_or_none(channel.get(), what, deadline, body); });
  };
  std::unique_ptr<Sharding> next;
  if (channel != nullptr) {
    agree("share the state", [&] {
      next = std::make_unique<Sharding>(*context_, site_, channel, schema_, sharding_key(), step_count(), options,
                                        dealing(), deadline);
    });
  }
  try {
    agree("take over its part of the state", [&] { prepare_slices(next.get(), /*keep=*/!lost_, deadline); });
  } catch (...) {
    discard_slices();
    throw;
  }
  sharding_ = std::move(next);
  if (is_sharded()) {
    context_->log().write(GRADSTEP_LOG_INFO, "optimizer {}: its state is spread over {} ranks, this is rank {}", kind(),
                          sharding_->comm().world_size(), sharding_->comm().rank());
  }
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
  gather(stored, whole, is_sharded() ? sharding_->comm().deadline() : Deadline::after_ms(0));
}

void Optimizer::gather(const StoredState& stored, void* whole, const Deadline& deadline) const {
  if (is_sharded() && stored.owner >= 0) {
    Communicator& comm = sharding_->comm();
    const std::int64_t bytes = stored.total * size_of(stored.array.dtype);
    if (stored.owner == comm.rank()) {
      site_.queue().download(whole, stored.array.data, static_cast<std::size_t>(bytes));
    }
    comm.broadcast(whole, bytes, stored.owner, deadline);
  } else if (has_slices()) {
    sharding_->gather(stored.parameter, stored.array, stored.is_blocked ? kernels::kCodeBlock : 1, whole, deadline);
  } else if (stored.array.bytes() > 0) {
    site_.queue().download(whole, stored.array.data, static_cast<std::size_t>(stored.array.bytes()));
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
  step_plan_.forms = {};
}

double Optimizer::get_value(std::int32_t group, const char* name) const {
  const std::size_t field = hyper_parameters_.field(name);
  hyper_parameters_.check_group(group);
  return hyper_parameters_.evaluate(group == -1 ? 0 : group, field, step_count(), &site_.queue());
}

void Optimizer::add_parameters(const gradstep_parameter* parameters, std::size_t n) {
  if (is_sharded()) {
    fail(GRADSTEP_ERR_INVALID_STATE, "optimizer: is sharded: attach no communicator first, and this one again after");
  }
  Schema grown = schema_;
  grown.append(parameters, n);
  (void)context_->site(grown);  // throws unless somebody serves them, and all on one device
  if (!same_device(grown.device(), schema_.device())) {
    fail(GRADSTEP_ERR_UNSUPPORTED, "parameters[0]: is on {}, the optimizer is on {}", device_text(grown.device()),
         device_text(schema_.device()));
  }
  HyperParameters changed = hyper_parameters_;
  changed.grow(grown.group_count());
  prepare(grown, changed);
  buffers_ = {};
  refreshed_ = false;
  // Appending to the live schema keeps the addresses of the shapes that views point to.
  schema_.append(parameters, n);
  hyper_parameters_ = std::move(changed);
  for (std::size_t i = schema_.size() - n; i < schema_.size(); ++i) work_.append(schema_[i].size);
  step_plan_.gradients.prepared.forget();
  step_plan_.forms = {};
}

void Optimizer::set_step_count(std::int64_t count) {
  if (count < 0 || count > kMostSteps) fail_argument("count: is {}, expected 0 to {}", count, kMostSteps);
  finish_pending();
  write(site_.queue(), &scalars()->steps, count);
  clock_.reset();
  refreshed_ = false;
}

void Optimizer::set_counters(std::int64_t steps, std::int64_t skipped) {
  write(site_.queue(), &scalars()->steps, steps);
  write(site_.queue(), &scalars()->skipped, skipped);
  clock_.reset();
  lost_ = torn_ = refreshed_ = false;
  state_replaced();
}

std::int64_t Optimizer::other_bytes() const {
  return (is_sharded() ? sharding_->bytes() : 0) +
         static_cast<std::int64_t>(work_.chunks().size() * (sizeof(Chunk) + sizeof(double)) +
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
  change_state([&] { site_.backend().copy({&work, items, {}}, 1, 1, site_.queue()); });
  set_state_flags(source.state_flags());
  set_counters(source.step_count(), source.skipped_steps());
}

}  // namespace gradstep
