/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * The small tensors of a step: numbers that it reads from the host's memory when it runs, and those that it writes
 * there.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "optimizer_fixture.h"

static void a_tensor_scales_gradients_by_what_it_holds_when_the_step_runs(void** state) {
  static const int64_t one[] = {1};
  float factor = 4;
  const gradstep_tensor factor_tensor = tensor_f32(&factor, 1, one);
  fixture* f = *state;
  create_sgd(f);
  f->step.grad_scale = 2;
  f->step.grad_scale_tensor = &factor_tensor;
  assert_ok(step_ex(f)); /* g = 1/8 */
  assert_true(f->m.values[0] == 0);
  factor = -1;
  assert_ok(step_ex(f));
  assert_true(f->m.values[0] == 0.25F);
  factor = NAN;
  assert_fails(step_ex(f), GRADSTEP_ERR_NUMERIC, "options.grad_scale_tensor", "nan");
  assert_true(f->m.values[0] == 0.25F);
  assert_int_equal(steps_of(f), 2);
}

static void the_outcome_of_a_step_is_written_into_a_tensor(void** state) {
  static const int64_t four[] = {4};
  double written[4] = {-1, -1, -1, -1};
  gradstep_tensor view = tensor_of(written, dtype_f64(), 1, four);
  fixture* f = *state;
  create_sgd(f);
  f->step.outcome = &view;
  f->step.skip_nonfinite = 1;
  memset(f->m.grads, 0, sizeof f->m.grads);
  f->m.grads[0] = 3;
  f->m.grads[8] = 4;
  f->step.max_norm = 2.5;
  assert_ok(step_ex(f));
  assert_true(written[0] == 1);
  assert_true(written[1] == 5);
  assert_true(fabs(written[2] - 2.5 / (5 + 1e-6)) <= 1e-15);
  assert_true(written[3] == 1);
  f->m.grads[8] = NAN;
  assert_ok(step_ex(f)); /* skipped: t stands */
  assert_true(written[0] == 0);
  assert_true(isnan(written[1]) != 0);
  assert_true(written[2] == 1);
  assert_true(written[3] == 1);
}

static void a_promise_that_tensors_are_disjoint_is_not_looked_at_and_not_remembered(void** state) {
  fixture* f = *state;
  create_sgd(f);
  f->m.gradients[1].data = f->m.params[1].data;
  assert_fails(step_ex(f), GRADSTEP_ERR_INVALID_ARGUMENT, "params[1] overlaps grads[1]");
  f->step.disjoint = 1;
  for (int i = 0; i < 2; ++i) assert_ok(step_ex(f));
  assert_true(f->m.values[0] == 0.75F); /* what does not overlap is stepped as ever */
  f->step.disjoint = 0;
  assert_fails(step_ex(f), GRADSTEP_ERR_INVALID_ARGUMENT, "params[1] overlaps grads[1]");
  assert_int_equal(steps_of(f), 2);
}

static void a_hyper_parameter_in_memory_is_read_at_every_step(void** state) {
  static const int64_t one[] = {1};
  double* rate = malloc(sizeof *rate);
  const gradstep_tensor rate_tensor = tensor_of(rate, dtype_f64(), 1, one);
  fixture* f = *state;
  double value = 0;
  assert_non_null(rate);
  create_sgd(f);
  *rate = NAN; /* not read yet */
  assert_ok(gradstep_optimizer_set_tensor(f->optimizer, -1, "learning_rate", &rate_tensor));
  *rate = 2;
  step(f); /* g = 1/8 */
  assert_true(f->m.values[0] == 0.75F);
  *rate = 4;
  assert_ok(gradstep_optimizer_get_value(f->optimizer, 0, "learning_rate", &value));
  assert_true(value == 4);
  step(f);
  assert_true(f->m.values[0] == 0.25F);
  *rate = -1;
  assert_fails(step_ex(f), GRADSTEP_ERR_NUMERIC, "learning_rate of group 0 at step 2", "-1");
  assert_fails(gradstep_optimizer_get_value(f->optimizer, 0, "learning_rate", &value), GRADSTEP_ERR_NUMERIC, "-1");
  assert_true(f->m.values[0] == 0.25F);
  assert_int_equal(steps_of(f), 2);
  assert_ok(gradstep_optimizer_set_value(f->optimizer, -1, "learning_rate", 1));
  free(rate); /* no more borrowed */
  step(f);
  assert_true(f->m.values[0] == 0.125F);
}

static void a_momentum_in_memory_is_there_from_the_first_step(void** state) {
  static const int64_t one[] = {1};
  double momentum = 0;
  const gradstep_tensor tensor = tensor_of(&momentum, dtype_f64(), 1, one);
  fixture* f = *state;
  create_sgd(f);
  assert_ok(gradstep_optimizer_set_tensor(f->optimizer, 0, "momentum", &tensor));
  step(f); /* b = 1/8 */
  momentum = 2;
  step(f); /* b = 2/8 + 1/8 */
  assert_true(f->m.values[0] == 0.5F);
}

static void copies_of_the_state_and_new_groups_leave_the_tensor_in_its_place(void** state) {
  static const int64_t one[] = {1};
  double rate = 2;
  const gradstep_tensor rate_tensor = tensor_of(&rate, dtype_f64(), 1, one);
  gradstep_optimizer* source = NULL;
  gradstep_parameter added = parameter_f32("added", 1, one);
  double value = 0;
  fixture* f = *state;
  create_sgd(f);
  assert_ok(gradstep_optimizer_set_tensor(f->optimizer, 0, "learning_rate", &rate_tensor));
  assert_ok(gradstep_optimizer_create_sgd(f->context, &f->sgd, f->m.parameters, kModelParameters, &source));
  assert_ok(gradstep_optimizer_copy_state(f->optimizer, source));
  gradstep_optimizer_destroy(source);
  step(f); /* g = 1/8 */
  assert_true(f->m.values[0] == 0.75F);
  added.group = 1;
  assert_ok(gradstep_optimizer_add_parameters(f->optimizer, &added, 1));
  rate = 3;
  for (int32_t group = 0; group < 2; ++group) {
    assert_ok(gradstep_optimizer_get_value(f->optimizer, group, "learning_rate", &value));
    assert_true(value == 3);
  }
}

static void a_bad_tensor_for_a_hyper_parameter_changes_nothing(void** state) {
  static const int64_t one[] = {1};
  double numbers[2] = {2, 2};
  float single = 2;
  static const int64_t two[] = {2};
  const gradstep_tensor good = tensor_of(numbers, dtype_f64(), 1, one);
  const gradstep_tensor both = tensor_of(numbers, dtype_f64(), 1, two);
  const gradstep_tensor narrow = tensor_f32(&single, 1, one);
  const gradstep_tensor nowhere = tensor_of(NULL, dtype_f64(), 1, one);
  fixture* f = *state;
  create_sgd(f);
#define REFUSED(group, name, tensor, ...)                                                                       \
  assert_fails(gradstep_optimizer_set_tensor(f->optimizer, group, name, tensor), GRADSTEP_ERR_INVALID_ARGUMENT, \
               __VA_ARGS__)
  REFUSED(-1, "learning_rate", NULL, "tensor", "NULL");
  REFUSED(-1, "learning_rate", &nowhere, "tensor", "NULL");
  REFUSED(-1, "learning_rate", &both, "tensor", "(2)", "f64 (1)");
  REFUSED(-1, "learning_rate", &narrow, "tensor", "f32", "f64 (1)");
  REFUSED(-1, "rate", &good, "'rate'", "learning_rate");
  REFUSED(1, "learning_rate", &good, "group", "1");
#undef REFUSED
  step(f);
  assert_true(f->m.values[0] == 0.875F);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_tensor_scales_gradients_by_what_it_holds_when_the_step_runs),
      TEST(the_outcome_of_a_step_is_written_into_a_tensor),
      TEST(a_promise_that_tensors_are_disjoint_is_not_looked_at_and_not_remembered),
      TEST(a_hyper_parameter_in_memory_is_read_at_every_step),
      TEST(a_momentum_in_memory_is_there_from_the_first_step),
      TEST(copies_of_the_state_and_new_groups_leave_the_tensor_in_its_place),
      TEST(a_bad_tensor_for_a_hyper_parameter_changes_nothing),
  };
  return cmocka_run_group_tests_name("step_tensors", tests, NULL, NULL);
}
