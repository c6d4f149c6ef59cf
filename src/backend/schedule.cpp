// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/schedule.h"

#include <array>
#include <cmath>

#include "core/error.h"
#include "core/hash.h"
#include "core/options.h"

namespace gradstep {

namespace {

void check_finite(const char* argument, const char* field, double value) {
  if (!std::isfinite(value)) fail_argument("{}.{}: is {}, expected a finite number", argument, field, value);
}

void check_piecewise(const char* argument, const gradstep_schedule& s) {
  if (s.n_points < 1) fail_argument("{}.n_points: is {}, expected at least 1", argument, s.n_points);
  if (s.values == nullptr) fail_argument("{}.values: is NULL", argument);
  if (s.n_points > 1 && s.boundaries == nullptr) fail_argument("{}.boundaries: is NULL", argument);
  for (std::int32_t i = 0; i < s.n_points; ++i) {
    if (!std::isfinite(s.values[i])) {
      fail_argument("{}.values[{}]: is {}, expected a finite number", argument, i, s.values[i]);
    }
  }
  for (std::int32_t i = 0; i + 1 < s.n_points; ++i) {
    if (s.boundaries[i] < 0 || (i > 0 && s.boundaries[i] <= s.boundaries[i - 1])) {
      fail_argument("{}.boundaries[{}]: is {}, expected at least 0 and more than the one before", argument, i,
                    s.boundaries[i]);
    }
  }
}

}  // namespace

Schedule::Schedule(const char* argument, const gradstep_schedule* source, bool take_callback) {
  const auto s = read_known_fields(argument, source);
  if (take_callback || s.kind == GRADSTEP_SCHEDULE_CALLBACK) {
    CallbackOwner owner = take_callback ? CallbackOwner(s.release, s.user) : CallbackOwner();
    callback_ = std::make_shared<Callback>();
    callback_->user = s.user;
    callback_->owner = std::move(owner);
  }
  check_unknown_fields(argument, source);
  if (s.kind < GRADSTEP_SCHEDULE_CONSTANT || s.kind > GRADSTEP_SCHEDULE_CALLBACK) {
    fail_argument("{}.kind: is {}, expected {} to {}", argument, s.kind, static_cast<int>(GRADSTEP_SCHEDULE_CONSTANT),
                  static_cast<int>(GRADSTEP_SCHEDULE_CALLBACK));
  }
  if (s.warmup_steps < 0) fail_argument("{}.warmup_steps: is {}, expected at least 0", argument, s.warmup_steps);
  if (s.kind == GRADSTEP_SCHEDULE_CALLBACK) {
    if (s.function == nullptr) fail_argument("{}.function: is NULL, and kind is callback", argument);
    callback_->function = s.function;
  } else if (s.kind == GRADSTEP_SCHEDULE_PIECEWISE) {
    check_piecewise(argument, s);
    values_.assign(s.values, s.values + s.n_points);
    if (s.n_points > 1) boundaries_.assign(s.boundaries, s.boundaries + s.n_points - 1);
  } else {
    check_finite(argument, "init_value", s.init_value);
    check_finite(argument, "end_value", s.end_value);
  }
  const bool decays = s.kind >= GRADSTEP_SCHEDULE_EXPONENTIAL_DECAY && s.kind <= GRADSTEP_SCHEDULE_COSINE;
  if (decays && s.decay_steps < 1) fail_argument("{}.decay_steps: is {}, expected at least 1", argument, s.decay_steps);
  if (!(s.decay_rate >= 0) || !std::isfinite(s.decay_rate)) {
    fail_argument("{}.decay_rate: is {}, expected a finite number of at least 0", argument, s.decay_rate);
  }
  if (s.kind == GRADSTEP_SCHEDULE_POLYNOMIAL && !(s.power > 0 && std::isfinite(s.power))) {
    fail_argument("{}.power: is {}, expected a finite number above 0", argument, s.power);
  }
  form_.kind = static_cast<kernels::ScheduleKind>(s.kind);
  form_.init_value = s.init_value;
  form_.end_value = s.end_value;
  form_.decay_steps = s.decay_steps;
  form_.decay_rate = s.decay_rate;
  form_.power = s.power;
  form_.staircase = s.staircase != 0;
  form_.warmup_steps = s.warmup_steps;
}

Schedule Schedule::in_memory(const double* number) {
  Schedule schedule;
  schedule.form_.kind = kernels::ScheduleKind::memory;
  schedule.form_.number = number;
  return schedule;
}

double Schedule::value(std::int64_t step) const {
  if (form_.kind == kernels::ScheduleKind::piecewise) return kernels::scheduled(form(), step);
  if (form_.kind != kernels::ScheduleKind::callback) return kernels::scheduled(form_, step);
  const std::int64_t t = kernels::steps_after_warmup(form_, step);
  double value = 0;
  const std::shared_ptr<Callback> callback = callback_;  // stays even if the host replaces the schedule meanwhile
  const gradstep_status status =
      call_host("a schedule's callback", [&] { return callback->function(callback->user, t, &value); });
  if (status != GRADSTEP_OK) {
    fail(GRADSTEP_ERR_CALLBACK, "a schedule's callback returned {} at step {}: {}", status_name(status), t,
         last_error());
  }
  return kernels::warmed_up(form_, step, value);
}

std::uint64_t Schedule::digest(std::uint64_t state) const {
  const std::array<std::int64_t, 4> whole = {static_cast<std::int64_t>(form_.kind), form_.staircase ? 1 : 0,
                                             form_.decay_steps, form_.warmup_steps};
  const std::array<double, 4> numbers = {form_.init_value, form_.end_value, form_.decay_rate, form_.power};
  state = hash_bytes(whole.data(), sizeof whole, state);
  state = hash_bytes(numbers.data(), sizeof numbers, state);
  state = hash_bytes(boundaries_.data(), boundaries_.size() * sizeof(std::int64_t), state);
  return hash_bytes(values_.data(), values_.size() * sizeof(double), state);
}

kernels::ScheduleForm Schedule::form() const {
  kernels::ScheduleForm form = form_;
  form.n_points = static_cast<std::int32_t>(values_.size());
  form.boundaries = boundaries_.data();
  form.values = values_.data();
  return form;
}

}  // namespace gradstep
