// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/optimizer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "core/error.h"
#include "core/shape.h"

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

Optimizer::Optimizer(std::shared_ptr<Context> context, Schema schema, std::span<const GroupFields> fields,
                     Traits traits)
    : traits_(std::move(traits)),
      context_(std::move(context)),
      site_(context_->site(schema)),
      schema_(std::move(schema)),
      state_(*context_, site_, traits_.flags_at_site),
      hyper_parameters_(fields, schema_.group_count()),
      scalars_(site_.allocate(sizeof(kernels::StepScalars), /*zeroed=*/true)) {
  step_plan_.gradients.work = &work_;
  step_plan_.fields = static_cast<std::int32_t>(hyper_parameters_.field_count());
}

void Optimizer::list_work() {
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

/// Where steps are queued, t is the device's: it evaluates schedules that need no host. For others the host waits, and
/// for rules whose constants it writes.
bool Optimizer::is_evaluated_here() const {
  return site_.is_host() || step_plan_.rules.empty() || hyper_parameters_.needs_host();
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
         "optimizer: an exchange of its sharded state failed, and the state is lost: {}load a saved state",
         can_be_reached() ? "" : "attach a communicator of the ranks that are left (or none), then ");
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
    kernels::decide(guards, step_plan_.limits, kNan, kNan, *clock_);
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
  } else if (guards.skip_nonfinite && (guards.found_inf == nullptr || *guards.found_inf != 0) && !guards.skip) {
    log.write(GRADSTEP_LOG_WARNING,
              "optimizer {}: step {} was skipped: the norm of its gradients is {}, times a scale of {}; what it stores "
              "is finite up to {}",
              kind(), scalars()->steps + 1, outcome.grad_norm, guards.grad_scale, step_plan_.limits.gradient);
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
  const auto group = static_cast<std::int32_t>(position / fields);
  fail(GRADSTEP_ERR_NUMERIC, "{} of group {} at step {}: is out of its range, and the steps since were not made",
       hyper_parameters_.fields(group)[position % fields].name, group, last.steps);
}

/// What fails before its first loop has begun has changed nothing.
void Optimizer::change_state(FunctionRef<void()> body) {
  nothing_has_changed();
  try {
    body();
  } catch (...) {
    if (!torn_ && context_->loops_begun() != loops_before_) {
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

void Optimizer::set_schedule(std::int32_t group, const char* name, const Schedule& schedule) {
  hyper_parameters_.check_group(group);
  HyperParameters changed = hyper_parameters_;
  changed.set(group, name, schedule);
  prepare(schema_, changed);
  buffers_ = {};
  refreshed_ = false;
  hyper_parameters_ = std::move(changed);
  step_plan_.forms = {};
}

double Optimizer::get_value(std::int32_t group, const char* name) const {
  hyper_parameters_.check_group(group);
  const std::size_t field = hyper_parameters_.field(group, name);
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
  WorkList more = work_;
  for (std::size_t i = schema_.size(); i < grown.size(); ++i) more.append(grown[i].size);
  // Adding to the live schema keeps the addresses of the shapes that views point to.
  Schema::Addition addition = schema_.checked(parameters, n);
  prepare(grown, changed);
  buffers_ = {};
  refreshed_ = false;
  schema_.add(std::move(addition));
  hyper_parameters_ = std::move(changed);
  work_ = std::move(more);
  step_plan_.gradients.prepared.forget();
  step_plan_.forms = {};
}

void Optimizer::set_step_count(std::int64_t count) {
  if (count < 0 || count > kMostSteps) fail_argument("count: is {}, expected 0 to {}", count, kMostSteps);
  on(StateEvent::is_counted);
  write(site_.queue(), &scalars()->steps, count);
  clock_.reset();
  refreshed_ = false;
  on(StateEvent::was_counted);
}

void Optimizer::set_counters(std::int64_t steps, std::int64_t skipped) {
  write(site_.queue(), &scalars()->steps, steps);
  write(site_.queue(), &scalars()->skipped, skipped);
  clock_.reset();
  lost_ = torn_ = refreshed_ = false;
  on(StateEvent::was_replaced);
}

std::int64_t Optimizer::other_bytes() const {
  return (is_sharded() ? sharding_->bytes() : 0) + scratch_bytes() + static_cast<std::int64_t>(state_.bytes()) +
         static_cast<std::int64_t>(work_.chunks().size() * (sizeof(Chunk) + sizeof(double)) +
                                   schema_.size() * sizeof(Parameter));
}

void Optimizer::check_gives_updates() const {
  for (std::size_t i = 0; i < schema_.size(); ++i) {
    for (const auto& [state, what] :
         {std::pair(kMasterWeights, "master weights"), std::pair(kWeightAverage, "an average")}) {
      if (!state_.has(i, state)) continue;
      fail(GRADSTEP_ERR_UNSUPPORTED, "updates: parameter '{}' has {}, which only a step in place can follow",
           schema_[i].name, what);
    }
  }
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
