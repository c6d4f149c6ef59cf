// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/optimizer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "comm/all_or_none.h"
#include "core/error.h"
#include "core/trace.h"

namespace gradstep {

namespace {

/// To the log.
void tell_skipped(Log& log, const char* kind, std::int64_t step, const StepGuards& guards, const StepOutcome& outcome,
                  double largest_gradient) {
  if (guards.skip_nonfinite && !std::isfinite(outcome.grad_norm)) {
    log.write(GRADSTEP_LOG_WARNING, "optimizer {}: step {} was skipped: the norm of its gradients is {}", kind, step,
              outcome.grad_norm);
  } else if (guards.skip_nonfinite && (guards.found_inf == nullptr || *guards.found_inf != 0) && !guards.skip) {
    log.write(GRADSTEP_LOG_WARNING,
              "optimizer {}: step {} was skipped: the norm of its gradients is {}, times a scale of {}; what it stores "
              "is finite up to {}",
              kind, step, outcome.grad_norm, guards.grad_scale, largest_gradient);
  } else {
    log.write(GRADSTEP_LOG_WARNING, "optimizer {}: step {} was skipped: found_inf is set", kind, step);
  }
}

}  // namespace

Optimizer::Optimizer(std::shared_ptr<Context> context, Schema parameters, std::span<const GroupFields> fields,
                     Traits traits)
    : SteppedModel(std::move(context), std::move(parameters), std::move(traits)),
      step_numbers_(site(), work(), fields, schema().group_count()),
      wholeness_(*this->context(), kind()) {}

void Optimizer::apply_guarded(double clip_value) {
  wholeness_.change([&] { apply(clip_value); });
  step_numbers_.clock().follow_close();
  buffers_were_seen();
}

/// Where work is queued it is not known yet.
StepOutcome Optimizer::outcome(const StepGuards& guards) {
  if (!site().is_host()) return {!guards.skip, std::numeric_limits<double>::quiet_NaN(), 1};
  const StepOutcome known = last_outcome();
  if (!known.applied) {
    tell_skipped(context()->log(), kind(), step_count() + 1, guards, known, step_plan().limits.gradient);
  }
  return known;
}

StepOutcome Optimizer::step(const StepBuffers& buffers, const StepGuards& guards) {
  if (is_sharded()) return step_sharded(buffers, guards, sharding_->default_exchange());
  const Phase phase("step", {{"parameters", static_cast<std::int64_t>(schema().size())}});
  take(buffers);
  check_state_is_whole();
  check_parts_are_attached(schema(), is_sharded());
  step_numbers_.take();
  step_numbers_.begin(buffers_.grads, guards);
  apply_guarded(guards.clip_value);
  return outcome(guards);
}

void Optimizer::set_schedule(std::int32_t group, const char* name, const Schedule& schedule) {
  hyper_parameters().check_group(group);
  HyperParameters changed = hyper_parameters();
  changed.set(group, name, schedule);
  prepare(schema(), changed, 0);
  buffers_ = {};
  step_numbers_.set_hyper_parameters(std::move(changed));
}

double Optimizer::get_value(std::int32_t group, const char* name) const {
  hyper_parameters().check_group(group);
  const std::size_t field = hyper_parameters().field(group, name);
  return hyper_parameters().evaluate(group == -1 ? 0 : group, field, step_count(), &site().queue());
}

const OwnAverage& Optimizer::own_average(std::size_t parameter) const {
  static const OwnAverage none;
  const auto group = static_cast<std::size_t>(schema()[parameter].group);
  return group < own_averages_.size() ? own_averages_[group] : none;
}

double Optimizer::average_share(std::size_t parameter) const {
  const OwnAverage& own = own_average(parameter);
  if (own.state == nullptr) return 1;
  const std::int32_t group = schema()[parameter].group;
  std::vector<double> values;
  for (std::size_t field = 0; field < hyper_parameters().fields(group).size(); ++field) {
    values.push_back(hyper_parameters().evaluate(group, field, step_count(), &site().queue()));
  }
  return own.share(values.data());
}

void Optimizer::add_parameters(const gradstep_parameter* parameters, std::size_t n) {
  const std::size_t known = schema().size();
  announce(parameters, n);
  try {
    if (schema().group_count() > hyper_parameters().group_count()) {
      HyperParameters changed = hyper_parameters();
      changed.grow(schema().group_count());
      prepare(schema(), changed, known);
      step_numbers_.set_hyper_parameters(std::move(changed));
    } else {
      prepare(schema(), hyper_parameters(), known);
    }
  } catch (...) {
    withdraw(known);
    throw;
  }
  take_in(known);
  step_plan().gradients.prepared.forget();
}

void Optimizer::set_step_count(std::int64_t count) {
  if (count < 0 || count > kMostSteps) fail_argument("count: is {}, expected 0 to {}", count, kMostSteps);
  on(StateEvent::is_counted);
  step_numbers_.set_steps(count);
  on(StateEvent::was_counted);
}

void Optimizer::set_counters(std::int64_t steps, std::int64_t skipped) {
  step_numbers_.set_steps(steps);
  step_numbers_.clock().set_skipped(skipped);
  wholeness_.restore();
  on(StateEvent::was_replaced);
}

std::span<const gradstep_metric> Optimizer::metrics() {
  metrics_.clear();
  on(StateEvent::is_measured);
  return metrics_;
}

// Owners of parts may be other ranks in the source: then no rank copies.
void Optimizer::copy_state(Optimizer& source) {
  std::vector<StoredState> to;
  std::vector<StoredState> from;
  const auto compare = [&] {
    if (std::string(kind()) != source.kind()) {
      fail(GRADSTEP_ERR_MISMATCH, "source: is {}, destination is {}", source.kind(), kind());
    }
    source.check_state_is_whole();
    if (const std::string difference = schema().difference(source.schema()); !difference.empty()) {
      fail(GRADSTEP_ERR_MISMATCH, "destination and source: {}", difference);
    }
    to = state().stored();
    from = source.state().stored();
    for (const auto& [stored, optimizer] : {std::pair(&to, this), std::pair(&from, &source)}) {
      if (std::ranges::any_of(*stored, [](const StoredState& each) { return each.owner >= 0; })) {
        check_parts_are_attached(optimizer->schema(), optimizer->is_sharded());
      }
    }
    const auto same = [](const StoredState& a, const StoredState& b) {
      return a.array.size == b.array.size && a.array.dtype == b.array.dtype;
    };
    if (!std::equal(to.begin(), to.end(), from.begin(), from.end(), same)) {
      fail(GRADSTEP_ERR_MISMATCH, "destination has {} state buffers, source has {} (momentum absent in one of them?)",
           to.size(), from.size());
    }
  };
  const Parts* parts = is_sharded() ? sharding()->parts() : nullptr;
  all_or_none(parts != nullptr && parts->any_travels() ? &sharding()->comm() : nullptr, "copy the state", compare);
  WorkList work;
  std::vector<CopyItem> items;
  for (std::size_t i = 0; i < to.size(); ++i) {
    work.append(to[i].array.size);
    items.push_back({to[i].array, from[i].array});
  }
  wholeness_.change([&] { site().backend().copy({&work, items, {}}, 1, 1, site().queue()); });
  state().set_flags(source.state().flags());
  set_counters(source.step_count(), source.skipped_steps());
}

}  // namespace gradstep
