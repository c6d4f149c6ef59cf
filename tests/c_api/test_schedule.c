/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Expected values were worked out by hand from the definitions in schedule.h, as decimal fractions where the arithmetic
 * is exact. Tolerance 1e-15 relative: the definitions take a handful of f64 operations, and pow and cos are good to an
 * ulp.
 */
#include <math.h>
#include <string.h>

#include "support.h"

typedef struct expected_value {
  int64_t step;
  double value;
} expected_value;

static gradstep_schedule schedule_of(int32_t kind, double init_value) {
  gradstep_schedule s;
  assert_ok(gradstep_schedule_init(&s, sizeof s));
  s.kind = kind;
  s.init_value = init_value;
  return s;
}

static void assert_values(const gradstep_schedule* s, const expected_value* expected, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    double value = NAN;
    assert_ok(gradstep_schedule_value(s, expected[i].step, &value));
    if (!(fabs(value - expected[i].value) <= 4e-15 * fmax(fabs(expected[i].value), 1e-3))) {
      fail_msg("step %lld: %.17g, expected %.17g", (long long)expected[i].step, value, expected[i].value);
    }
  }
}

static void defaults_are_a_constant(void** state) {
  const expected_value expected[] = {{0, 0}, {1000000, 0}};
  gradstep_schedule s;
  (void)state;
  memset(&s, 0xff, sizeof s);
  assert_ok(gradstep_schedule_init(&s, sizeof s));
  assert_int_equal(s.kind, GRADSTEP_SCHEDULE_CONSTANT);
  assert_true(s.power == 1);
  assert_values(&s, expected, COUNT_OF(expected));
}

static void constant(void** state) {
  const expected_value expected[] = {{0, 0.1}, {7, 0.1}, {INT64_C(1) << 40, 0.1}};
  const gradstep_schedule s = schedule_of(GRADSTEP_SCHEDULE_CONSTANT, 0.1);
  (void)state;
  assert_values(&s, expected, COUNT_OF(expected));
}

static void exponential_decay(void** state) {
  const expected_value smooth[] = {{0, 0.8}, {1, 0.4}, {2, 0.2}, {4, 0.05}};
  const expected_value halves[] = {{0, 0.8}, {1, 0.56568542494923802}, {2, 0.4}, {3, 0.28284271247461901}};
  const expected_value stairs[] = {{0, 0.8}, {1, 0.8}, {2, 0.4}, {3, 0.4}, {4, 0.2}, {5, 0.2}};
  gradstep_schedule s = schedule_of(GRADSTEP_SCHEDULE_EXPONENTIAL_DECAY, 0.8);
  (void)state;
  s.decay_rate = 0.5;
  s.decay_steps = 1;
  assert_values(&s, smooth, COUNT_OF(smooth));
  s.decay_steps = 2;
  assert_values(&s, halves, COUNT_OF(halves));
  s.staircase = 1;
  assert_values(&s, stairs, COUNT_OF(stairs));
}

static void inverse_time(void** state) {
  /* 1 / (1 + 0.5 t / 4), and with floor(t / 4) */
  const expected_value smooth[] = {{0, 1}, {2, 0.8}, {4, 1 / 1.5}, {8, 0.5}};
  const expected_value stairs[] = {{0, 1}, {3, 1}, {4, 1 / 1.5}, {7, 1 / 1.5}, {8, 0.5}};
  gradstep_schedule s = schedule_of(GRADSTEP_SCHEDULE_INVERSE_TIME, 1);
  (void)state;
  s.decay_rate = 0.5;
  s.decay_steps = 4;
  assert_values(&s, smooth, COUNT_OF(smooth));
  s.staircase = 1;
  assert_values(&s, stairs, COUNT_OF(stairs));
}

static void polynomial_ends_at_its_end_value(void** state) {
  const expected_value linear[] = {{0, 1}, {1, 0.775}, {2, 0.55}, {4, 0.1}, {5, 0.1}, {1000, 0.1}};
  const expected_value square[] = {{0, 1}, {1, 0.60625}, {2, 0.325}, {4, 0.1}, {9, 0.1}};
  gradstep_schedule s = schedule_of(GRADSTEP_SCHEDULE_POLYNOMIAL, 1);
  (void)state;
  s.end_value = 0.1;
  s.decay_steps = 4;
  assert_values(&s, linear, COUNT_OF(linear));
  s.power = 2;
  assert_values(&s, square, COUNT_OF(square));
}

static void cosine_ends_at_its_end_value(void** state) {
  /* cos of 0, 60, 90, 120 and 180 degrees */
  const expected_value expected[] = {{0, 1}, {2, 0.8}, {3, 0.6}, {4, 0.4}, {6, 0.2}, {100, 0.2}};
  gradstep_schedule s = schedule_of(GRADSTEP_SCHEDULE_COSINE, 1);
  (void)state;
  s.end_value = 0.2;
  s.decay_steps = 6;
  assert_values(&s, expected, COUNT_OF(expected));
}

static void piecewise_changes_after_its_boundary(void** state) {
  const int64_t boundaries[] = {3, 5};
  const double values[] = {1, 0.5, 0.25};
  const expected_value expected[] = {{0, 1}, {3, 1}, {4, 0.5}, {5, 0.5}, {6, 0.25}, {600, 0.25}};
  gradstep_schedule s = schedule_of(GRADSTEP_SCHEDULE_PIECEWISE, 0);
  (void)state;
  s.n_points = 3;
  s.boundaries = boundaries;
  s.values = values;
  assert_values(&s, expected, COUNT_OF(expected));
}

static gradstep_status square_of_step(void* user, int64_t step, double* value) {
  *value = *(const double*)user * (double)(step * step);
  return GRADSTEP_OK;
}

static gradstep_status refuse(void* user, int64_t step, double* value) {
  (void)user;
  (void)step;
  (void)value;
  gradstep_set_last_error("no value today");
  return GRADSTEP_ERR_CALLBACK;
}

static void callback_is_asked_for_the_step(void** state) {
  double factor = 0.5;
  const expected_value expected[] = {{0, 0}, {1, 0.5}, {4, 8}};
  gradstep_schedule s = schedule_of(GRADSTEP_SCHEDULE_CALLBACK, 0);
  double value = 7;
  (void)state;
  s.function = square_of_step;
  s.user = &factor;
  assert_values(&s, expected, COUNT_OF(expected));
  s.function = refuse;
  assert_fails(gradstep_schedule_value(&s, 3, &value), GRADSTEP_ERR_CALLBACK, "no value today", "3");
  assert_true(value == 7);
}

static void warmup_rises_linearly_into_any_kind(void** state) {
  /* w = 4: f(0) (t + 1) / 5 while t < 4, then f(t - 4) */
  const expected_value constant_values[] = {{0, 0.2}, {1, 0.4}, {2, 0.6}, {3, 0.8}, {4, 1}, {5, 1}};
  const expected_value decay_values[] = {{0, 0.2}, {3, 0.8}, {4, 1}, {5, 0.5}, {6, 0.25}};
  gradstep_schedule s = schedule_of(GRADSTEP_SCHEDULE_CONSTANT, 1);
  (void)state;
  s.warmup_steps = 4;
  assert_values(&s, constant_values, COUNT_OF(constant_values));
  s.kind = GRADSTEP_SCHEDULE_EXPONENTIAL_DECAY;
  s.decay_steps = 1;
  s.decay_rate = 0.5;
  assert_values(&s, decay_values, COUNT_OF(decay_values));
}

static void bad_schedules_are_named(void** state) {
  const int64_t falling[] = {3, 3};
  const int64_t negative[] = {-1, 3};
  const int64_t rising[] = {3, 5};
  const double values[] = {1, 0.5, 0.25};
  const double nonfinite[] = {1, NAN, 0.25};
  double value = 7;
  gradstep_schedule s = schedule_of(GRADSTEP_SCHEDULE_CONSTANT, 1);
  (void)state;
  assert_fails(gradstep_schedule_init(NULL, sizeof s), GRADSTEP_ERR_INVALID_ARGUMENT, "NULL");
  assert_fails(gradstep_schedule_value(NULL, 0, &value), GRADSTEP_ERR_INVALID_ARGUMENT, "NULL");
  assert_fails(gradstep_schedule_value(&s, 0, NULL), GRADSTEP_ERR_INVALID_ARGUMENT, "value");
  assert_fails(gradstep_schedule_value(&s, -1, &value), GRADSTEP_ERR_INVALID_ARGUMENT, "step", "-1");
  s.kind = GRADSTEP_SCHEDULE_INVALID;
  assert_fails(gradstep_schedule_value(&s, 0, &value), GRADSTEP_ERR_INVALID_ARGUMENT, "kind", "-1");
  s.kind = 7;
  assert_fails(gradstep_schedule_value(&s, 0, &value), GRADSTEP_ERR_INVALID_ARGUMENT, "kind", "7");
  s = schedule_of(GRADSTEP_SCHEDULE_CONSTANT, INFINITY);
  assert_fails(gradstep_schedule_value(&s, 0, &value), GRADSTEP_ERR_INVALID_ARGUMENT, "init_value", "inf");
  s = schedule_of(GRADSTEP_SCHEDULE_CONSTANT, 1);
  s.warmup_steps = -1;
  assert_fails(gradstep_schedule_value(&s, 0, &value), GRADSTEP_ERR_INVALID_ARGUMENT, "warmup_steps", "-1");
  s = schedule_of(GRADSTEP_SCHEDULE_COSINE, 1);
  assert_fails(gradstep_schedule_value(&s, 0, &value), GRADSTEP_ERR_INVALID_ARGUMENT, "decay_steps", "0");
  s.decay_steps = 3;
  s.end_value = NAN;
  assert_fails(gradstep_schedule_value(&s, 0, &value), GRADSTEP_ERR_INVALID_ARGUMENT, "end_value", "nan");
  s = schedule_of(GRADSTEP_SCHEDULE_EXPONENTIAL_DECAY, 1);
  s.decay_steps = 3;
  s.decay_rate = -0.5;
  assert_fails(gradstep_schedule_value(&s, 0, &value), GRADSTEP_ERR_INVALID_ARGUMENT, "decay_rate", "-0.5");
  s = schedule_of(GRADSTEP_SCHEDULE_POLYNOMIAL, 1);
  s.decay_steps = 3;
  s.power = 0;
  assert_fails(gradstep_schedule_value(&s, 0, &value), GRADSTEP_ERR_INVALID_ARGUMENT, "power", "0");
  s = schedule_of(GRADSTEP_SCHEDULE_CALLBACK, 1);
  assert_fails(gradstep_schedule_value(&s, 0, &value), GRADSTEP_ERR_INVALID_ARGUMENT, "function", "NULL");
  s = schedule_of(GRADSTEP_SCHEDULE_PIECEWISE, 0);
  assert_fails(gradstep_schedule_value(&s, 0, &value), GRADSTEP_ERR_INVALID_ARGUMENT, "n_points", "0");
  s.n_points = 3;
  s.values = values;
  assert_fails(gradstep_schedule_value(&s, 0, &value), GRADSTEP_ERR_INVALID_ARGUMENT, "boundaries");
  s.boundaries = falling;
  assert_fails(gradstep_schedule_value(&s, 0, &value), GRADSTEP_ERR_INVALID_ARGUMENT, "boundaries[1]", "3");
  s.boundaries = negative;
  assert_fails(gradstep_schedule_value(&s, 0, &value), GRADSTEP_ERR_INVALID_ARGUMENT, "boundaries[0]", "-1");
  s.boundaries = rising;
  s.values = nonfinite;
  assert_fails(gradstep_schedule_value(&s, 0, &value), GRADSTEP_ERR_INVALID_ARGUMENT, "values[1]", "nan");
  assert_true(value == 7);
}

static void value_alone_does_not_release(void** state) {
  int released = 0;
  double value = 0;
  gradstep_schedule s = schedule_of(GRADSTEP_SCHEDULE_CONSTANT, 1);
  (void)state;
  s.user = &released;
  s.release = count_release;
  assert_ok(gradstep_schedule_value(&s, 0, &value));
  assert_int_equal(released, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(defaults_are_a_constant),
      cmocka_unit_test(constant),
      cmocka_unit_test(exponential_decay),
      cmocka_unit_test(inverse_time),
      cmocka_unit_test(polynomial_ends_at_its_end_value),
      cmocka_unit_test(cosine_ends_at_its_end_value),
      cmocka_unit_test(piecewise_changes_after_its_boundary),
      cmocka_unit_test(callback_is_asked_for_the_step),
      cmocka_unit_test(warmup_rises_linearly_into_any_kind),
      cmocka_unit_test(bad_schedules_are_named),
      cmocka_unit_test(value_alone_does_not_release),
  };
  return cmocka_run_group_tests_name("schedule", tests, NULL, NULL);
}
