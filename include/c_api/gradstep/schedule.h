/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * schedule.h: a number as a function of the step counter t, which is 0 at the first step.
 *
 * Every numeric hyper-parameter can be a schedule, and so can the length of an accumulation window. With w =
 * warmup_steps, the value is f(0) * (t + 1) / (w + 1) while t < w, and f(t - w) from then on, where f(t) is
 *
 *   constant            init_value
 *   exponential_decay   init_value * decay_rate^(t / decay_steps), the exponent floored if staircase
 *   inverse_time        init_value / (1 + decay_rate * t / decay_steps), the quotient floored if staircase
 *   polynomial          (init_value - end_value) * (1 - min(t, decay_steps) / decay_steps)^power + end_value
 *   cosine              end_value + (init_value - end_value) * (1 + cos(pi * min(t, decay_steps) / decay_steps)) / 2
 *   piecewise           values[i] for boundaries[i-1] < t <= boundaries[i]; n_points values, n_points - 1 boundaries
 *   callback            function(user, t, &value)
 *
 * Sources: SINGA opt.py (constant, exponential_decay); Keras and Optax for the others' conventional definitions.
 */
#ifndef GRADSTEP_SCHEDULE_H
#define GRADSTEP_SCHEDULE_H

#include "gradstep/base.h"

#if defined(__cplusplus)
extern "C" {
#endif

enum gradstep_schedule_kind {
  GRADSTEP_SCHEDULE_INVALID = -1,
  GRADSTEP_SCHEDULE_CONSTANT = 0,
  GRADSTEP_SCHEDULE_EXPONENTIAL_DECAY = 1,
  GRADSTEP_SCHEDULE_INVERSE_TIME = 2,
  GRADSTEP_SCHEDULE_POLYNOMIAL = 3,
  GRADSTEP_SCHEDULE_COSINE = 4,
  GRADSTEP_SCHEDULE_PIECEWISE = 5,
  GRADSTEP_SCHEDULE_CALLBACK = 6
};

/*
 * Deep-copied where it is given. `release` (may be NULL) is called exactly once, also when the call that takes the
 * schedule fails. gradstep_schedule_value alone neither keeps nor releases it. All numbers are finite. `function` is
 * called with the t of the formulas above (that is, from the end of the warmup on it counts from 0 again), on the
 * thread whose call needs the value; *value is 0 before. A status other than OK makes that call CALLBACK, with the
 * status's name and the text of gradstep_set_last_error.
 */
typedef struct gradstep_schedule {
  uint32_t struct_size;
  int32_t kind; /* enum gradstep_schedule_kind */
  double init_value;
  double end_value;
  int64_t decay_steps;       /* > 0 for exponential_decay, inverse_time, polynomial and cosine */
  double decay_rate;         /* >= 0 */
  double power;              /* > 0; polynomial; default 1 */
  int32_t staircase;         /* bool; exponential_decay and inverse_time */
  int32_t n_points;          /* piecewise: >= 1 */
  int64_t warmup_steps;      /* >= 0 */
  const int64_t* boundaries; /* piecewise: n_points - 1, strictly increasing, >= 0 */
  const double* values;      /* piecewise: n_points */
  gradstep_status (*function)(void* user, int64_t step, double* value); /* callback */
  void* user;
  void (*release)(void* user);
} gradstep_schedule;

/* Writes the defaults into the struct_size bytes at s: the constant 0, power 1. Returns: INVALID_ARGUMENT (s NULL, a
 * bad struct_size). */
GRADSTEP_API gradstep_status gradstep_schedule_init(gradstep_schedule* s, size_t struct_size) GRADSTEP_NOEXCEPT;

/*
 * *value = the schedule's value at t = `step` >= 0. The schedule is only read.
 * Returns: INVALID_ARGUMENT (a NULL, a negative step, a field that breaks its rule or is not finite), CALLBACK
 * (function failed or threw).
 */
GRADSTEP_API gradstep_status gradstep_schedule_value(const gradstep_schedule* s, int64_t step,
                                                     double* value) GRADSTEP_NOEXCEPT;

#if defined(__cplusplus)
}
#endif

#endif /* GRADSTEP_SCHEDULE_H */
