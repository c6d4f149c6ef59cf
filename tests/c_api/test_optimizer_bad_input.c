/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Bad input to an optimizer: a text that names the argument, and nothing changed. */
#include <math.h>
#include <string.h>

#include "optimizer_fixture.h"

static void unknown_names_list_the_known_ones(void** state) {
  fixture* f = *state;
  gradstep_schedule schedule;
  double value = 7;
  int released = 0;
  create_adam(f);
  assert_fails(gradstep_optimizer_set_value(f->optimizer, -1, "momentum", 0.5), GRADSTEP_ERR_INVALID_ARGUMENT,
               "momentum", "learning_rate", "beta1", "beta2", "epsilon", "weight_decay");
  assert_fails(gradstep_optimizer_get_value(f->optimizer, -1, "lr", &value), GRADSTEP_ERR_INVALID_ARGUMENT, "lr",
               "learning_rate");
  assert_true(value == 7);
  assert_fails(gradstep_optimizer_set_value(f->optimizer, 1, "beta1", 0.5), GRADSTEP_ERR_INVALID_ARGUMENT, "group",
               "1");
  assert_fails(gradstep_optimizer_set_value(f->optimizer, -1, "beta1", 1), GRADSTEP_ERR_INVALID_ARGUMENT, "beta1", "1");
  assert_fails(gradstep_optimizer_set_value(f->optimizer, -1, NULL, 1), GRADSTEP_ERR_INVALID_ARGUMENT, "name", "NULL");
  assert_ok(gradstep_schedule_init(&schedule, sizeof schedule));
  schedule.user = &released;
  schedule.release = count_release;
  assert_fails(gradstep_optimizer_set_schedule(f->optimizer, -1, "lr", &schedule), GRADSTEP_ERR_INVALID_ARGUMENT, "lr");
  assert_int_equal(released, 1);
}

static void bad_options_are_named(void** state) {
  fixture* f = *state;
#define REFUSED(rule, field, bad_value, ...)                                                                         \
  do {                                                                                                               \
    gradstep_##rule##_options o = f->rule;                                                                           \
    o.field = (bad_value);                                                                                           \
    assert_fails(gradstep_optimizer_create_##rule(f->context, &o, f->m.parameters, kModelParameters, &f->optimizer), \
                 GRADSTEP_ERR_INVALID_ARGUMENT, #field, __VA_ARGS__);                                                \
    assert_null(f->optimizer);                                                                                       \
  } while (0)
  REFUSED(sgd, learning_rate, NAN, "set");
  REFUSED(sgd, learning_rate, INFINITY, "inf");
  REFUSED(sgd, momentum, -0.5, "-0.5");
  REFUSED(sgd, weight_decay, NAN, "nan");
  REFUSED(sgd, nesterov, 1, "momentum");
  REFUSED(sgd, first_step, 2, "2");
  REFUSED(sgd, state_dtype, 3, "3");
  REFUSED(rmsprop, learning_rate, NAN, "set");
  REFUSED(rmsprop, learning_rate, -1, "-1");
  REFUSED(rmsprop, rho, 1, "1");
  REFUSED(rmsprop, epsilon, -0.5, "-0.5");
  REFUSED(rmsprop, momentum, -0.5, "-0.5");
  REFUSED(rmsprop, epsilon_placement, 2, "2");
  REFUSED(rmsprop, state_dtype, -1, "-1");
  REFUSED(adagrad, learning_rate, NAN, "set");
  REFUSED(adagrad, epsilon, NAN, "nan");
  REFUSED(adagrad, weight_decay, -1, "-1");
  REFUSED(adagrad, lr_decay, -0.5, "-0.5");
  REFUSED(adagrad, initial_accumulator, -0.5, "-0.5");
  REFUSED(adagrad, epsilon_placement, -1, "-1");
  REFUSED(adam, state_dtype, 7, "7");
  REFUSED(adam, learning_rate, NAN, "set");
  REFUSED(adam, beta1, 1, "1");
  REFUSED(adam, beta2, -0.25, "-0.25");
  REFUSED(adam, epsilon, -1, "-1");
  REFUSED(adam, bias_correction, -1, "-1");
#undef REFUSED
  f->sgd.momentum = 0.5;
  f->sgd.dampening = 0.5;
  f->sgd.nesterov = 1;
  assert_fails(gradstep_optimizer_create_sgd(f->context, &f->sgd, f->m.parameters, kModelParameters, &f->optimizer),
               GRADSTEP_ERR_INVALID_ARGUMENT, "nesterov", "dampening");
  assert_fails(gradstep_optimizer_create_sgd(f->context, NULL, f->m.parameters, kModelParameters, &f->optimizer),
               GRADSTEP_ERR_INVALID_ARGUMENT, "options", "NULL");
}

static void names_that_are_not_utf8_are_refused(void** state) {
  fixture* f = *state;
  f->m.parameters[1].name = "w\xff";
  assert_fails(gradstep_optimizer_create_sgd(f->context, &f->sgd, f->m.parameters, kModelParameters, &f->optimizer),
               GRADSTEP_ERR_INVALID_ARGUMENT, "parameters[1]", "not UTF-8 from byte 1 on (0xff)");
  assert_null(f->optimizer);
}

static void step_counts_out_of_range_are_refused(void** state) {
  fixture* f = *state;
  int64_t count = 0;
  create_adam(f);
  assert_fails(gradstep_optimizer_set_step_count(f->optimizer, -1), GRADSTEP_ERR_INVALID_ARGUMENT,
               "count: is -1, expected 0 to 9007199254740992");
  assert_fails(gradstep_optimizer_set_step_count(f->optimizer, ((int64_t)1 << 53) + 1), GRADSTEP_ERR_INVALID_ARGUMENT,
               "count: is 9007199254740993");
  assert_ok(gradstep_optimizer_step_count(f->optimizer, &count));
  assert_int_equal(count, 0);
  assert_ok(gradstep_optimizer_set_step_count(f->optimizer, (int64_t)1 << 53));
  step(f);
  assert_ok(gradstep_optimizer_step_count(f->optimizer, &count));
  assert_true(count == ((int64_t)1 << 53) + 1);
}

static void bad_sharding_is_refused(void** state) {
  fixture* f = *state;
  gradstep_sharding_options options;
  gradstep_comm* comm = NULL;
  assert_ok(gradstep_comm_create_local(f->context, 1, &comm));
  create_adam(f);
  assert_ok(gradstep_sharding_options_init(&options, sizeof options));
  options.gradients = 2;
  assert_fails(gradstep_optimizer_attach_comm(f->optimizer, comm, &options), GRADSTEP_ERR_INVALID_ARGUMENT,
               "options.gradients", "2");
  options.gradients = 0;
  options.average = GRADSTEP_AVERAGE_WEIGHTED;
  assert_fails(gradstep_optimizer_attach_comm(f->optimizer, comm, &options), GRADSTEP_ERR_INVALID_ARGUMENT,
               "options.average", "3");
  assert_ok(gradstep_optimizer_attach_comm(f->optimizer, comm, NULL));
  assert_fails(gradstep_optimizer_add_parameters(f->optimizer, f->m.parameters, 1), GRADSTEP_ERR_INVALID_STATE,
               "sharded");
  assert_fails(gradstep_optimizer_attach_comm(NULL, comm, NULL), GRADSTEP_ERR_INVALID_ARGUMENT, "optimizer", "NULL");
  gradstep_reducer* reducer = NULL;
  assert_ok(gradstep_reducer_create(f->context, comm, NULL, f->m.parameters, 1, &reducer));
  assert_fails(gradstep_optimizer_attach_reducer(f->optimizer, NULL, NULL), GRADSTEP_ERR_INVALID_ARGUMENT, "reducer",
               "NULL");
  assert_fails(gradstep_optimizer_attach_reducer(f->optimizer, reducer, NULL), GRADSTEP_ERR_INVALID_ARGUMENT, "reducer",
               "other parameters");
  gradstep_reducer_destroy(reducer);
  gradstep_comm_destroy(comm);
}

static void bad_step_options_change_nothing(void** state) {
  const int64_t one[] = {1};
  float wrong = 3;
  const gradstep_tensor wrong_norm = tensor_f32(&wrong, 1, one);
  double numbers[3] = {1, 1, 1};
  const int64_t two[] = {2};
  int64_t apart[] = {2};
  const gradstep_tensor wrong_scale = tensor_of(numbers, dtype_f64(), 1, one);
  gradstep_tensor wrong_outcome = tensor_of(numbers, dtype_f64(), 1, two);
  fixture* f = *state;
  create_sgd(f);
#define REFUSED(field, bad_value, ...)                                            \
  do {                                                                            \
    const gradstep_step_options before = f->step;                                 \
    f->step.field = (bad_value);                                                  \
    assert_fails(step_ex(f), GRADSTEP_ERR_INVALID_ARGUMENT, #field, __VA_ARGS__); \
    f->step = before;                                                             \
  } while (0)
  REFUSED(grad_scale, NAN, "nan");
  REFUSED(max_norm, -1, "-1");
  REFUSED(clip_value, -2, "-2");
  REFUSED(grad_norm, &wrong_norm, "f64");
  REFUSED(grad_scale_tensor, &wrong_scale, "f64", "f32 (1)");
  REFUSED(outcome, &wrong_outcome, "f64 (2)", "f64 (4)");
  wrong_outcome.strides = apart;
  REFUSED(outcome, &wrong_outcome, "strided");
#undef REFUSED
  f->step.struct_size = 4;
  assert_fails(step_ex(f), GRADSTEP_ERR_INVALID_ARGUMENT, "struct_size", "4");
  assert_true(f->m.values[0] == 1);
  assert_int_equal(steps_of(f), 0);
}

static void bad_tensors_are_named_and_change_nothing(void** state) {
  const int64_t wrong_shape[] = {6};
  int64_t none[] = {0};
  double doubles[6] = {0};
  fixture* f = *state;
  model good;
  create_sgd(f);
  good = f->m;
#define REFUSED(...)                                                                                         \
  do {                                                                                                       \
    assert_fails(gradstep_optimizer_step(f->optimizer, f->m.params, f->m.gradients, kModelParameters, NULL), \
                 GRADSTEP_ERR_INVALID_ARGUMENT, __VA_ARGS__);                                                \
    f->m = good;                                                                                             \
  } while (0)
  f->m.params[0] = tensor_f32(f->m.values, 1, wrong_shape);
  REFUSED("params[0]", "(6)", "dense.weight", "(2,3)");
  f->m.params[1].data = NULL;
  REFUSED("params[1]", "NULL", "dense.bias");
  f->m.params[1] = tensor_of(doubles, dtype_f64(), 1, good.params[1].shape);
  REFUSED("params[1]", "f64", "dense.bias", "f32");
  f->m.gradients[0] = tensor_of(doubles, dtype_f64(), 2, good.params[0].shape);
  REFUSED("grads[0]", "f64", "dense.weight");
  f->m.gradients[1].device.device_type = GRADSTEP_DEVICE_CUDA;
  REFUSED("grads[1]", "cuda", "dense.bias", "cpu");
  f->m.gradients[0].data = f->m.values;
  REFUSED("params[0]", "grads[0]", "overlaps");
  f->m.gradients[1].data = f->m.values + 2;
  REFUSED("params[0]", "grads[1]", "overlaps");
  f->m.params[1].data = f->m.values + 4;
  REFUSED("params[0]", "params[1]", "overlaps");
  f->m.gradients[1].data = (char*)f->m.grads + 2;
  REFUSED("grads[1]", "aligned");
  f->m.params[1].strides = none;
  REFUSED("params[1]", "share memory", "strides (0)");
  f->m.params[1].byte_offset = UINT64_MAX - 3;
  REFUSED("params[1]", "byte_offset is 18446744073709551612");
#undef REFUSED
  assert_fails(gradstep_optimizer_step(f->optimizer, f->m.params, f->m.gradients, 1, NULL),
               GRADSTEP_ERR_INVALID_ARGUMENT, "n is 1", "2");
  assert_fails(gradstep_optimizer_step(f->optimizer, NULL, f->m.gradients, kModelParameters, NULL),
               GRADSTEP_ERR_INVALID_ARGUMENT, "params", "NULL");
  assert_fails(gradstep_optimizer_step(f->optimizer, f->m.params, NULL, kModelParameters, NULL),
               GRADSTEP_ERR_INVALID_ARGUMENT, "grads", "NULL");
  assert_fails(gradstep_optimizer_step(NULL, f->m.params, f->m.gradients, kModelParameters, NULL),
               GRADSTEP_ERR_INVALID_ARGUMENT, "optimizer", "NULL");
  assert_memory_equal(f->m.values, good.values, sizeof good.values);
  assert_int_equal(steps_of(f), 0);
  step(f);
}

static void streams_are_for_devices(void** state) {
  fixture* f = *state;
  create_sgd(f);
  assert_fails(gradstep_optimizer_step(f->optimizer, f->m.params, f->m.gradients, kModelParameters, f),
               GRADSTEP_ERR_INVALID_ARGUMENT, "stream", "CPU");
  assert_int_equal(steps_of(f), 0);
}

typedef struct update_call {
  gradstep_tensor params[kModelParameters];
  gradstep_tensor grads[kModelParameters];
  gradstep_tensor updates[kModelParameters];
} update_call;

static gradstep_status update(fixture* f, const update_call* c) {
  return gradstep_optimizer_update(f->optimizer, c->params, c->grads, c->updates, kModelParameters, NULL);
}

/* The second call with the same buffers takes a shorter way, which must believe nothing that it has not looked at. */
static void shapes_that_cannot_be_read_are_refused_in_every_call(void** state) {
  fixture* f = *state;
  static const int32_t ndims[] = {-1, INT32_MIN, 33, 1000000};
  static const char* const texts[] = {"of -1 dim", "of -2147483648 dim", "of 33 dim", "of 1000000 dim", "shape NULL"};
  static const char* const names[] = {"params[1]", "grads[1]", "updates[1]"};
  float deltas[kModelElements];
  update_call good, bad;
  int calls = 0;
  create_sgd(f);
  memcpy(good.params, f->m.params, sizeof good.params);
  memcpy(good.grads, f->m.gradients, sizeof good.grads);
  memcpy(good.updates, f->m.params, sizeof good.updates);
  good.updates[0].data = deltas;
  good.updates[1].data = deltas + 6;
  for (size_t list = 0; list < COUNT_OF(names); ++list) {
    for (size_t i = 0; i <= COUNT_OF(ndims); ++i) {
      gradstep_tensor* tensor;
      assert_ok(update(f, &good));
      bad = good;
      tensor = list == 0 ? &bad.params[1] : list == 1 ? &bad.grads[1] : &bad.updates[1];
      if (i < COUNT_OF(ndims)) {
        tensor->ndim = ndims[i];
      } else {
        tensor->shape = NULL;
      }
      assert_fails(update(f, &bad), GRADSTEP_ERR_INVALID_ARGUMENT, names[list], texts[i], "dense.bias", "(3)");
      assert_int_equal(steps_of(f), ++calls);
    }
  }
}

static void strides_that_reach_too_far_are_refused(void** state) {
  int64_t strides[] = {INT64_MAX / 2, 1};
  fixture* f = *state;
  create_sgd(f);
  f->m.gradients[0].strides = strides;
  assert_fails(gradstep_optimizer_step(f->optimizer, f->m.params, f->m.gradients, kModelParameters, NULL),
               GRADSTEP_ERR_INVALID_ARGUMENT, "grads[0]", "strides[0]");
  strides[0] = INT64_MIN;
  assert_fails(gradstep_optimizer_step(f->optimizer, f->m.params, f->m.gradients, kModelParameters, NULL),
               GRADSTEP_ERR_INVALID_ARGUMENT, "grads[0]", "strides[0]");
  assert_int_equal(steps_of(f), 0);
}

static gradstep_status call_again(void* user, int64_t step_number, double* value) {
  fixture* f = user;
  int64_t count = 0;
  (void)step_number;
  *value = gradstep_optimizer_step_count(f->optimizer, &count) == GRADSTEP_ERR_INVALID_STATE ? 0.5 : 0;
  return GRADSTEP_OK;
}

static void a_call_while_another_is_inside_is_refused(void** state) {
  fixture* f = *state;
  gradstep_schedule schedule;
  assert_ok(gradstep_schedule_init(&schedule, sizeof schedule));
  schedule.kind = GRADSTEP_SCHEDULE_CALLBACK;
  schedule.function = call_again;
  schedule.user = f;
  create_sgd(f);
  assert_ok(gradstep_optimizer_set_schedule(f->optimizer, -1, "learning_rate", &schedule));
  step(f); /* the schedule is asked inside the step; its call was refused if the rate became 1/2 */
  assert_true(f->m.values[0] == 1 - 0.0625F);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(names_that_are_not_utf8_are_refused),
      TEST(step_counts_out_of_range_are_refused),
      TEST(unknown_names_list_the_known_ones),
      TEST(bad_options_are_named),
      TEST(bad_step_options_change_nothing),
      TEST(bad_tensors_are_named_and_change_nothing),
      TEST(streams_are_for_devices),
      TEST(a_call_while_another_is_inside_is_refused),
      TEST(bad_sharding_is_refused),
      TEST(strides_that_reach_too_far_are_refused),
      TEST(shapes_that_cannot_be_read_are_refused_in_every_call),
  };
  return cmocka_run_group_tests_name("optimizer_bad_input", tests, NULL, NULL);
}
