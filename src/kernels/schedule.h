// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Closed forms of the schedules (definitions: include/c_api/gradstep/schedule.h).
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/macros.h"

namespace gradstep::kernels {

/// The numbers of enum gradstep_schedule_kind.
enum class ScheduleKind : std::int32_t {
  constant = 0,
  exponential_decay = 1,
  inverse_time = 2,
  polynomial = 3,
  cosine = 4,
  piecewise = 5,
  callback = 6,
  memory = 7,  // no kind of the host's: a number that stands somewhere, see ScheduleForm::number
};

struct ScheduleForm {
  ScheduleKind kind = ScheduleKind::constant;
  bool staircase = false;
  double init_value = 0;
  double end_value = 0;
  std::int64_t decay_steps = 1;
  double decay_rate = 0;
  double power = 1;
  std::int64_t warmup_steps = 0;
  // Piecewise: values[i] up to boundaries[i], then the next; n_points values.
  std::int32_t n_points = 0;
  const std::int64_t* boundaries = nullptr;
  const double* values = nullptr;
  const double* number = nullptr;  // of kind memory, in the backend's memory
};

/// A hyper-parameter with a schedule that needs no host, and its legal values: finite, in [minimum, limit).
struct HyperParameterForm {
  ScheduleForm schedule;
  double minimum = 0;
  double limit = 0;
};

/// The value at t >= 0, warm-up excluded; callbacks are for the host.
GRADSTEP_FORMULA double schedule_value(const ScheduleForm& s, std::int64_t t) {
  const double steps = static_cast<double>(s.decay_steps);
  const double quotient = static_cast<double>(t) / steps;
  const double progress = quotient < 1 ? quotient : 1;
  switch (s.kind) {
    case ScheduleKind::exponential_decay:
      return s.init_value * std::pow(s.decay_rate, s.staircase ? std::floor(quotient) : quotient);
    case ScheduleKind::inverse_time:
      return s.init_value / (1 + s.decay_rate * (s.staircase ? std::floor(quotient) : quotient));
    case ScheduleKind::polynomial:
      return (s.init_value - s.end_value) * std::pow(1 - progress, s.power) + s.end_value;
    case ScheduleKind::cosine:
      return s.end_value + (s.init_value - s.end_value) * (1 + std::cos(3.141592653589793 * progress)) / 2;
    case ScheduleKind::piecewise: {
      std::int32_t i = 0;
      while (i + 1 < s.n_points && t > s.boundaries[i]) ++i;
      return s.values[i];
    }
    case ScheduleKind::memory:
      return *s.number;
    default:
      return s.init_value;
  }
}

/// What a value becomes at `step` of a warm-up, a line from nearly 0.
GRADSTEP_FORMULA double warmed_up(const ScheduleForm& s, std::int64_t step, double value) {
  if (step >= s.warmup_steps) return value;
  return value * (static_cast<double>(step) + 1) / (static_cast<double>(s.warmup_steps) + 1);
}

/// How many steps of the schedule itself lie behind `step`.
GRADSTEP_FORMULA std::int64_t steps_after_warmup(const ScheduleForm& s, std::int64_t step) {
  return step < s.warmup_steps ? 0 : step - s.warmup_steps;
}

GRADSTEP_FORMULA double scheduled(const ScheduleForm& s, std::int64_t step) {
  if (s.kind == ScheduleKind::constant && s.warmup_steps == 0) return s.init_value;
  return warmed_up(s, step, schedule_value(s, steps_after_warmup(s, step)));
}

/// Writes the values of a group's hyper-parameters at t. Returns the position of the first that is out of its range, or
/// `fields`.
GRADSTEP_FORMULA std::int32_t evaluate(const HyperParameterForm* forms, std::int32_t fields, std::int64_t t,
                                       double* values) {
  std::int32_t bad = fields;
  for (std::int32_t i = fields; i-- > 0;) {
    values[i] = scheduled(forms[i].schedule, t);
    if (!(values[i] - values[i] == 0 && values[i] >= forms[i].minimum && values[i] < forms[i].limit)) bad = i;
  }
  return bad;
}

}  // namespace gradstep::kernels
