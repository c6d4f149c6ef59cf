// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/step_clock.h"

#include <cmath>
#include <limits>

#include "core/error.h"

namespace gradstep {

namespace {

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

StepOutcome StepClock::last_outcome() const {
  const kernels::StepScalars last = site_.is_host() ? *scalars() : awaited();
  return {last.gate != 0, last.norm, last.clip_coefficient};
}

const kernels::StepScalars& StepClock::known() const {
  if (site_.is_host()) return *scalars();
  if (!known_) known_ = awaited();
  return *known_;
}

void StepClock::follow_begin(const StepGuards& guards, const kernels::StepLimits& limits, bool is_evaluated_here) {
  if (!known_) return;
  if (is_evaluated_here && guards.is_decided_by_host()) {
    constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
    kernels::decide(guards, limits, kUnknown, kUnknown, *known_);
  } else {
    known_.reset();
  }
}

/// On the host a hyper-parameter is checked before anything happens; a device says afterwards, and once for each step
/// that was not made, which one it was.
kernels::StepScalars StepClock::awaited() const {
  const kernels::StepScalars last = read(site_.queue(), scalars());
  if (last.failure == 0) return last;
  write(site_.queue(), &scalars()->failure, std::uint32_t{0});
  const std::size_t position = last.failure - 1;
  const std::size_t fields = hyper_parameters_.field_count();
  const auto group = static_cast<std::int32_t>(position / fields);
  fail(GRADSTEP_ERR_NUMERIC, "{} of group {} at step {}: is out of its range, and the steps since were not made",
       hyper_parameters_.fields(group)[position % fields].name, group, last.steps);
}

}  // namespace gradstep
