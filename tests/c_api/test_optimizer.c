/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers are dyadic fractions where a test compares without a tolerance. Longer runs of the rules against independent
 * values are in tests/conformance.
 */
#include <math.h>
#include <string.h>

#include "optimizer_fixture.h"

static void sgd_steps_in_place(void** state) {
  fixture* f = *state;
  create_sgd(f);
  step(f);
  for (int i = 0; i < kModelElements; ++i) assert_true(f->m.values[i] == (float)(i + 1) * 0.875F);
  assert_int_equal(steps_of(f), 1);
}

static void sgd_first_step_dampens_or_copies(void** state) {
  fixture* f = *state;
  f->sgd.momentum = 0.5;
  f->sgd.dampening = 0.5;
  create_sgd(f);
  step(f); /* b = g / 2 */
  assert_true(f->m.values[0] == 1 - 0.0625F);
  step(f); /* b = g / 4 + g / 2 */
  assert_true(f->m.values[0] == 1 - 0.0625F - 0.09375F);
  model_init(&f->m);
  f->sgd.first_step = GRADSTEP_SGD_FIRST_STEP_COPY;
  create_sgd(f);
  step(f); /* b = g */
  assert_true(f->m.values[0] == 1 - 0.125F);
  step(f); /* b = g / 2 + g / 2 */
  assert_true(f->m.values[0] == 1 - 0.25F);
}

static void sgd_decay_nesterov_and_maximize(void** state) {
  fixture* f = *state;
  f->sgd.weight_decay = 0.25;
  create_sgd(f);
  step(f); /* g + p / 4 = 3/8 */
  assert_true(f->m.values[0] == 0.625F);
  model_init(&f->m);
  f->sgd.weight_decay = 0;
  f->sgd.momentum = 0.5;
  f->sgd.nesterov = 1;
  create_sgd(f);
  step(f); /* b = g, d = g + b / 2 */
  assert_true(f->m.values[0] == 1 - 0.1875F);
  model_init(&f->m);
  f->sgd.momentum = 0;
  f->sgd.nesterov = 0;
  f->sgd.maximize = 1;
  create_sgd(f);
  step(f);
  assert_true(f->m.values[0] == 1.125F);
}

static void rmsprop_and_adagrad_divide_by_the_root_of_squares(void** state) {
  fixture* f = *state;
  f->rmsprop.epsilon = 0;
  f->rmsprop.rho = 0.75;
  create_rmsprop(f);
  step(f); /* a = g^2 / 4: a step of 2 learning rates */
  for (int i = 0; i < kModelElements; ++i) assert_true(f->m.values[i] == (float)i + 0.75F);
  model_init(&f->m);
  f->adagrad.epsilon = 0;
  f->adagrad.lr_decay = 1;
  f->adagrad.initial_accumulator = 3.0 / 64;
  create_adagrad(f);
  step(f); /* g = 1/8: a = 4/64, a step of 1/2 of the learning rate */
  assert_true(f->m.values[0] == 0.9375F);
}

static void amsgrad_keeps_the_largest_second_moment(void** state) {
  gradstep_tensor largest;
  fixture* f = *state;
  f->adam.amsgrad = 1;
  create_adam(f);
  step(f);
  assert_ok(gradstep_optimizer_state(f->optimizer, 1, "max_exp_avg_sq", &largest));
  const float first = ((const float*)largest.data)[0];
  memset(f->m.grads, 0, sizeof f->m.grads);
  step(f);
  assert_true(((const float*)largest.data)[0] == first);
}

static void narrow_states_are_copied_not_viewed(void** state) {
  const int64_t shape[] = {3};
  float read[3] = {0, 0, 0};
  const float written[3] = {0, 0, 8};
  const gradstep_tensor read_tensor = tensor_f32(read, 1, shape);
  gradstep_tensor view;
  gradstep_tensor written_tensor = read_tensor;
  int64_t bytes = 0;
  fixture* f = *state;
  float source[3];
  memcpy(source, written, sizeof source);
  written_tensor.data = source;
  f->adam.state_dtype = GRADSTEP_STATE_DTYPE_INT8;
  assert_ok(gradstep_adam_state_bytes(&f->adam, f->m.parameters, kModelParameters, &bytes));
  assert_true(bytes == 2 * (kModelElements + 2 * (int64_t)sizeof(float)));
  create_adam(f);
  assert_fails(gradstep_optimizer_state(f->optimizer, 1, "exp_avg", &view), GRADSTEP_ERR_UNSUPPORTED, "exp_avg",
               "get_state");
  assert_ok(gradstep_optimizer_set_state(f->optimizer, 1, "exp_avg", &written_tensor, NULL));
  assert_ok(gradstep_optimizer_get_state(f->optimizer, 1, "exp_avg", &read_tensor, NULL));
  assert_memory_equal(read, written, sizeof read);
}

static void a_sharded_optimizer_steps_and_comes_back(void** state) {
  fixture* f = *state;
  gradstep_comm* comm = NULL;
  gradstep_tensor view;
  float values[kModelElements];
  create_adam(f);
  step(f);
  step(f);
  memcpy(values, f->m.values, sizeof values);
  model_init(&f->m);
  create_adam(f);
  assert_ok(gradstep_comm_create_local(f->context, 1, &comm));
  assert_ok(gradstep_optimizer_attach_comm(f->optimizer, comm, NULL));
  gradstep_comm_destroy(comm);
  step(f);
  assert_fails(gradstep_optimizer_state(f->optimizer, 0, "exp_avg", &view), GRADSTEP_ERR_UNSUPPORTED, "get_state");
  assert_ok(gradstep_optimizer_attach_comm(f->optimizer, NULL, NULL));
  assert_ok(gradstep_optimizer_state(f->optimizer, 0, "exp_avg", &view));
  step(f);
  assert_memory_equal(f->m.values, values, sizeof values);
}

static void adam_first_step_is_the_sign_of_the_gradient(void** state) {
  /* m / (1 - beta1) = g and v / (1 - beta2) = g^2 up to rounding: 4 ulp of a step of 1/8 on values up to 9 */
  fixture* f = *state;
  f->adam.epsilon = 0;
  create_adam(f);
  f->m.grads[0] = -f->m.grads[0];
  step(f);
  assert_true(fabsf(f->m.values[0] - 1.125F) <= 4e-7F);
  for (int i = 1; i < kModelElements; ++i) assert_true(fabsf(f->m.values[i] - ((float)i + 0.875F)) <= 2e-6F);
}

static void adamw_decays_the_parameter_itself(void** state) {
  fixture* f = *state;
  memset(f->m.grads, 0, sizeof f->m.grads);
  f->adam.weight_decay = 0.5;
  f->adam.decoupled_weight_decay = 1;
  create_adam(f);
  step(f); /* p -= p / 16 */
  for (int i = 0; i < kModelElements; ++i) assert_true(f->m.values[i] == (float)(i + 1) * 0.9375F);
}

static void update_writes_what_a_step_would_change(void** state) {
  fixture* f = *state;
  model stepped;
  float deltas[kModelElements];
  gradstep_tensor updates[kModelParameters];
  model_init(&stepped);
  memcpy(updates, f->m.params, sizeof updates);
  updates[0].data = deltas;
  updates[1].data = deltas + 6;
  create_adam(f);
  assert_ok(gradstep_optimizer_update(f->optimizer, f->m.params, f->m.gradients, updates, kModelParameters, NULL));
  for (int i = 0; i < kModelElements; ++i) assert_true(f->m.values[i] == (float)(i + 1));
  create_adam(f);
  assert_ok(gradstep_optimizer_step(f->optimizer, stepped.params, stepped.gradients, kModelParameters, NULL));
  for (int i = 0; i < kModelElements; ++i) assert_true(f->m.values[i] + deltas[i] == stepped.values[i]);

  create_adam(f); /* over the gradients themselves */
  assert_ok(
      gradstep_optimizer_update(f->optimizer, f->m.params, f->m.gradients, f->m.gradients, kModelParameters, NULL));
  assert_memory_equal(f->m.grads, deltas, sizeof deltas);
}

static void absent_gradient_leaves_its_parameter_alone(void** state) {
  fixture* f = *state;
  gradstep_tensor view;
  f->sgd.momentum = 0.5;
  f->sgd.weight_decay = 0.5;
  create_sgd(f);
  f->m.gradients[1].data = NULL;
  step(f);
  assert_true(f->m.values[6] == 7 && f->m.values[7] == 8 && f->m.values[8] == 9);
  assert_ok(gradstep_optimizer_state(f->optimizer, 1, "momentum_buffer", &view));
  assert_true(((const float*)view.data)[0] == 0);
  assert_int_equal(steps_of(f), 1);
}

static void step_options_scale_and_clip(void** state) {
  fixture* f = *state;
  gradstep_step_result result;
  memset(&result, 0, sizeof result);
  result.struct_size = sizeof result;
  f->step.result = &result;
  create_sgd(f);
  f->step.grad_scale = 2;
  f->step.clip_value = 0.5;
  assert_ok(step_ex(f)); /* g = 1/8, 2/8, ... doubled and cut at 1/2 */
  assert_true(f->m.values[0] == 0.75F);
  assert_true(f->m.values[1] == 1.5F);
  assert_true(f->m.values[8] == 8.5F);
  assert_int_equal(result.applied, 1);
  assert_true(result.clip_coefficient == 1);
  assert_true(isnan(result.grad_norm) != 0);

  model_init(&f->m);
  f->step.clip_value = 0;
  f->step.max_norm = 1;
  assert_ok(step_ex(f));
  /* norm^2 = (1 + 4 + ... + 81) / 64; tolerance: one rounding of the f64 sum, of the root and of the quotient */
  const double norm = sqrt(285.0 / 64);
  assert_true(fabs(result.grad_norm - norm) <= 1e-15 * norm * 4);
  assert_true(fabs(result.clip_coefficient - 1 / (2 * norm + 1e-6)) <= 1e-15);
  assert_true(fabsf(f->m.values[0] - (float)(1 - 0.25 * result.clip_coefficient)) <= 6e-8F);
}

static void given_norm_replaces_the_computed_one(void** state) {
  const int64_t one[] = {1};
  double norm = 3;
  const gradstep_tensor norm_tensor = tensor_of(&norm, dtype_f64(), 1, one);
  gradstep_step_result result;
  fixture* f = *state;
  memset(&result, 0, sizeof result);
  result.struct_size = sizeof result;
  create_sgd(f);
  f->step.max_norm = 1.5;
  f->step.grad_norm = &norm_tensor;
  f->step.result = &result;
  assert_ok(step_ex(f));
  assert_true(result.grad_norm == 3);
  assert_true(fabs(result.clip_coefficient - 1.5 / (3 + 1e-6)) <= 1e-15);
}

static void a_non_finite_gradient_skips_the_whole_step(void** state) {
  const int64_t one[] = {1};
  float found_inf = 0;
  gradstep_tensor found_inf_tensor = tensor_f32(&found_inf, 1, one);
  gradstep_step_result result;
  gradstep_metric metrics[4];
  size_t count = 0;
  double skipped = -1;
  fixture* f = *state;
  memset(&result, 0, sizeof result);
  memset(metrics, 0, sizeof metrics);
  result.struct_size = sizeof result;
  metrics[0].struct_size = metrics[1].struct_size = metrics[2].struct_size = metrics[3].struct_size = sizeof metrics[0];
  create_sgd(f);
  f->step.skip_nonfinite = 1;
  f->step.found_inf = &found_inf_tensor;
  f->step.result = &result;
  f->m.grads[8] = INFINITY;
  assert_ok(step_ex(f));
  for (int i = 0; i < kModelElements; ++i) assert_true(f->m.values[i] == (float)(i + 1));
  assert_int_equal(result.applied, 0);
  assert_true(found_inf == 1);
  assert_int_equal(steps_of(f), 0);
  f->m.grads[8] = 1; /* found_inf is still set: the host has not cleared it */
  assert_ok(step_ex(f));
  assert_int_equal(result.applied, 0);
  found_inf = 0;
  assert_ok(step_ex(f));
  assert_int_equal(result.applied, 1);
  assert_int_equal(steps_of(f), 1);
  assert_ok(gradstep_optimizer_metrics(f->optimizer, metrics, sizeof metrics[0], COUNT_OF(metrics), &count));
  assert_in_range(count, 2, COUNT_OF(metrics));
  for (size_t i = 0; i < count && i < COUNT_OF(metrics); ++i) {
    if (strcmp(metrics[i].name, "skipped_steps") == 0) skipped = metrics[i].value;
  }
  assert_true(skipped == 2);
}

static void values_and_schedules_are_set_by_name(void** state) {
  fixture* f = *state;
  gradstep_schedule schedule;
  double value = 0;
  int released = 0;
  create_adam(f);
  assert_ok(gradstep_optimizer_set_value(f->optimizer, -1, "beta1", 0.5));
  assert_ok(gradstep_optimizer_get_value(f->optimizer, 0, "beta1", &value));
  assert_true(value == 0.5);
  assert_ok(gradstep_schedule_init(&schedule, sizeof schedule));
  schedule.kind = GRADSTEP_SCHEDULE_EXPONENTIAL_DECAY;
  schedule.init_value = 0.5;
  schedule.decay_steps = 1;
  schedule.decay_rate = 0.5;
  schedule.user = &released;
  schedule.release = count_release;
  assert_ok(gradstep_optimizer_set_schedule(f->optimizer, 0, "learning_rate", &schedule));
  step(f);
  step(f);
  assert_ok(gradstep_optimizer_get_value(f->optimizer, -1, "learning_rate", &value));
  assert_true(value == 0.125);
  assert_ok(gradstep_optimizer_set_step_count(f->optimizer, 0));
  assert_ok(gradstep_optimizer_get_value(f->optimizer, -1, "learning_rate", &value));
  assert_true(value == 0.5);
  assert_int_equal(released, 0);
  assert_ok(gradstep_optimizer_set_value(f->optimizer, -1, "learning_rate", 1));
  assert_int_equal(released, 1);
}

static void groups_have_values_of_their_own(void** state) {
  fixture* f = *state;
  int32_t groups = 0;
  f->m.parameters[1].group = 1;
  create_sgd(f);
  assert_ok(gradstep_optimizer_group_count(f->optimizer, &groups));
  assert_int_equal(groups, 2);
  assert_ok(gradstep_optimizer_set_value(f->optimizer, 1, "learning_rate", 2));
  step(f);
  assert_true(f->m.values[0] == 0.875F);
  assert_true(f->m.values[6] == 7 * 0.75F);
}

static void state_is_viewed_copied_and_set(void** state) {
  const int64_t shape[] = {3};
  double read[3] = {0, 0, 0};
  double written[3] = {0.5, 0.25, 8};
  const gradstep_tensor read_tensor = tensor_of(read, dtype_f64(), 1, shape);
  const gradstep_tensor written_tensor = tensor_of(written, dtype_f64(), 1, shape);
  gradstep_tensor view;
  char names[64];
  fixture* f = *state;
  create_adam(f);
  assert_ok(gradstep_optimizer_state_names(f->optimizer, names, sizeof names, NULL));
  assert_string_equal(names, "exp_avg,exp_avg_sq");
  assert_ok(gradstep_optimizer_set_state(f->optimizer, 1, "exp_avg", &written_tensor, NULL));
  assert_ok(gradstep_optimizer_get_state(f->optimizer, 1, "exp_avg", &read_tensor, NULL));
  assert_memory_equal(read, written, sizeof read);
  assert_ok(gradstep_optimizer_state(f->optimizer, 1, "exp_avg", &view));
  assert_int_equal(view.ndim, 1);
  assert_true(((const float*)view.data)[2] == 8);
  assert_fails(gradstep_optimizer_state(f->optimizer, 2, "exp_avg", &view), GRADSTEP_ERR_INVALID_ARGUMENT, "index",
               "2");
  assert_fails(gradstep_optimizer_state(f->optimizer, 0, "moment", &view), GRADSTEP_ERR_INVALID_ARGUMENT, "moment",
               "exp_avg");
  create_sgd(f);
  assert_fails(gradstep_optimizer_state(f->optimizer, 0, "momentum_buffer", &view), GRADSTEP_ERR_INVALID_STATE,
               "momentum_buffer");
}

static void copy_state_continues_another_optimizer(void** state) {
  fixture* f = *state;
  gradstep_optimizer* other = NULL;
  model twin;
  create_adam(f);
  step(f);
  assert_ok(gradstep_optimizer_create_adam(f->context, &f->adam, f->m.parameters, kModelParameters, &other));
  assert_ok(gradstep_optimizer_copy_state(other, f->optimizer));
  twin = f->m;
  for (int i = 0; i < kModelParameters; ++i) {
    twin.params[i].data = twin.values + (i == 0 ? 0 : 6);
    twin.gradients[i].data = twin.grads + (i == 0 ? 0 : 6);
  }
  step(f);
  assert_ok(gradstep_optimizer_step(other, twin.params, twin.gradients, kModelParameters, NULL));
  assert_memory_equal(twin.values, f->m.values, sizeof twin.values);
  gradstep_optimizer_destroy(other);
  other = NULL;
  assert_ok(gradstep_optimizer_create_sgd(f->context, &f->sgd, f->m.parameters, kModelParameters, &other));
  assert_fails(gradstep_optimizer_copy_state(other, f->optimizer), GRADSTEP_ERR_MISMATCH, "adam");
  gradstep_optimizer_destroy(other);
}

static void added_parameters_start_at_zero(void** state) {
  fixture* f = *state;
  gradstep_tensor before, after;
  f->sgd.momentum = 0.5;
  assert_ok(gradstep_optimizer_create_sgd(f->context, &f->sgd, f->m.parameters, 1, &f->optimizer));
  assert_ok(gradstep_optimizer_step(f->optimizer, f->m.params, f->m.gradients, 1, NULL));
  assert_ok(gradstep_optimizer_state(f->optimizer, 0, "momentum_buffer", &before));
  assert_fails(gradstep_optimizer_add_parameters(f->optimizer, f->m.parameters, 1), GRADSTEP_ERR_INVALID_ARGUMENT,
               "parameters[0]", "dense.weight");
  assert_ok(gradstep_optimizer_add_parameters(f->optimizer, f->m.parameters + 1, 1));
  assert_ok(gradstep_optimizer_state(f->optimizer, 0, "momentum_buffer", &after));
  assert_ptr_equal(before.data, after.data);
  assert_ok(gradstep_optimizer_state(f->optimizer, 1, "momentum_buffer", &after));
  assert_true(((const float*)after.data)[0] == 0);
  step(f);
  assert_true(f->m.values[6] == 7 - 0.875F);
  assert_int_equal(steps_of(f), 2);
}

static void memory_says_what_is_held(void** state) {
  fixture* f = *state;
  gradstep_memory memory;
  int64_t bytes = 0;
  memset(&memory, 0, sizeof memory);
  memory.struct_size = sizeof memory;
  assert_ok(gradstep_adam_state_bytes(&f->adam, f->m.parameters, kModelParameters, &bytes));
  assert_true(bytes >= 2 * (int64_t)sizeof f->m.values);
  create_adam(f);
  assert_ok(gradstep_optimizer_memory(f->optimizer, &memory));
  assert_true(memory.state_bytes == bytes);
  assert_true(memory.other_bytes > 0);
  assert_ok(gradstep_sgd_state_bytes(&f->sgd, f->m.parameters, kModelParameters, &bytes));
  assert_true(bytes == 0);
}

static void nothing_is_under_way_on_the_cpu_when_a_step_returns(void** state) {
  fixture* f = *state;
  int32_t done = 0;
  create_sgd(f);
  step(f);
  assert_ok(gradstep_optimizer_poll(f->optimizer, &done));
  assert_int_equal(done, 1);
  assert_fails(gradstep_optimizer_poll(f->optimizer, NULL), GRADSTEP_ERR_INVALID_ARGUMENT, "done", "NULL");
}

static void strided_parameters_are_stepped_by_their_strides(void** state) {
  static const int64_t transposed[] = {1, 2};
  float buffer[] = {1, 4, 2, 5, 3, 6}; /* the transpose of 1 .. 6 */
  const float expected[] = {0.875F, 3.5F, 1.75F, 4.375F, 2.625F, 5.25F};
  fixture* f = *state;
  create_sgd(f);
  f->m.params[0].data = buffer;
  memcpy(&f->m.params[0].strides, &(const int64_t*){transposed}, sizeof(int64_t*));
  step(f);
  assert_memory_equal(buffer, expected, sizeof expected);
}

static void tensors_without_elements_and_no_parameters_are_legal(void** state) {
  const int64_t shape[] = {3, 0};
  const gradstep_parameter parameter = parameter_f32("empty", 2, shape);
  const gradstep_tensor nothing = tensor_f32(NULL, 2, shape);
  fixture* f = *state;
  assert_ok(gradstep_optimizer_create_adam(f->context, &f->adam, &parameter, 1, &f->optimizer));
  assert_ok(gradstep_optimizer_step(f->optimizer, &nothing, &nothing, 1, NULL));
  gradstep_optimizer_destroy(f->optimizer);
  f->optimizer = NULL;
  assert_ok(gradstep_optimizer_create_adam(f->context, &f->adam, NULL, 0, &f->optimizer));
  assert_ok(gradstep_optimizer_step(f->optimizer, NULL, NULL, 0, NULL));
  assert_int_equal(steps_of(f), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(sgd_steps_in_place),
      TEST(sgd_first_step_dampens_or_copies),
      TEST(sgd_decay_nesterov_and_maximize),
      TEST(rmsprop_and_adagrad_divide_by_the_root_of_squares),
      TEST(adam_first_step_is_the_sign_of_the_gradient),
      TEST(amsgrad_keeps_the_largest_second_moment),
      TEST(narrow_states_are_copied_not_viewed),
      TEST(a_sharded_optimizer_steps_and_comes_back),
      TEST(adamw_decays_the_parameter_itself),
      TEST(update_writes_what_a_step_would_change),
      TEST(absent_gradient_leaves_its_parameter_alone),
      TEST(step_options_scale_and_clip),
      TEST(given_norm_replaces_the_computed_one),
      TEST(a_non_finite_gradient_skips_the_whole_step),
      TEST(values_and_schedules_are_set_by_name),
      TEST(groups_have_values_of_their_own),
      TEST(state_is_viewed_copied_and_set),
      TEST(copy_state_continues_another_optimizer),
      TEST(added_parameters_start_at_zero),
      TEST(memory_says_what_is_held),
      TEST(nothing_is_under_way_on_the_cpu_when_a_step_returns),
      TEST(strided_parameters_are_stepped_by_their_strides),
      TEST(tensors_without_elements_and_no_parameters_are_legal),
  };
  return cmocka_run_group_tests_name("optimizer", tests, NULL, NULL);
}
