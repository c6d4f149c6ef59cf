/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * The micro-batches are small multiples of 1/8 and the divisors powers of two unless a test says otherwise, so that
 * every expected value is exact in f32 and is compared without a tolerance.
 */
#include <math.h>
#include <string.h>

#include "support.h"

typedef struct fixture {
  gradstep_context* context;
  gradstep_accumulator* accumulator;
  gradstep_accumulator_options options;
  model m;
} fixture;

static int setup(void** state) {
  static fixture f;
  memset(&f, 0, sizeof f);
  f.context = new_context(1);
  model_init(&f.m);
  if (gradstep_accumulator_options_init(&f.options, sizeof f.options) != GRADSTEP_OK) return -1;
  *state = &f;
  return 0;
}

static int teardown(void** state) {
  fixture* f = *state;
  gradstep_accumulator_destroy(f->accumulator);
  gradstep_context_destroy(f->context);
  return 0;
}

static void create(fixture* f) {
  assert_ok(gradstep_accumulator_create(f->context, &f->options, f->m.parameters, kModelParameters, &f->accumulator));
}

/* Adds gradients that are all `value`, and returns whether the window ended. */
static int32_t add_constant(fixture* f, float value, double weight) {
  int32_t ready = -1;
  for (int i = 0; i < kModelElements; ++i) f->m.grads[i] = value;
  assert_ok(gradstep_accumulator_add(f->accumulator, f->m.gradients, kModelParameters, weight, NULL, &ready));
  return ready;
}

static void assert_result(fixture* f, float expected) {
  gradstep_tensor results[kModelParameters];
  assert_ok(gradstep_accumulator_gradients(f->accumulator, results, kModelParameters, NULL));
  for (int i = 0; i < 6; ++i) assert_true(((const float*)results[0].data)[i] == expected);
  for (int i = 0; i < 3; ++i) assert_true(((const float*)results[1].data)[i] == expected);
}

static int64_t count_of(fixture* f) {
  int64_t count = -1;
  assert_ok(gradstep_accumulator_count(f->accumulator, &count));
  return count;
}

static void defaults_pass_every_micro_batch_through(void** state) {
  fixture* f = *state;
  assert_int_equal(f->options.mode, GRADSTEP_ACCUMULATE_MEAN_EACH);
  assert_int_equal(f->options.trigger, GRADSTEP_TRIGGER_STEPS);
  assert_int_equal(f->options.nonfinite, GRADSTEP_NONFINITE_NONE);
  assert_int_equal(f->options.steps, 1);
  create(f);
  assert_int_equal(add_constant(f, 0.375F, 1), 1);
  assert_result(f, 0.375F);
  assert_int_equal(add_constant(f, 5, 1), 1);
  assert_result(f, 5);
}

static void each_mode_has_its_result(void** state) {
  /* 1, 2, 3, 6 with weights 1, 1, 2, 4: sum 12, mean 3, weighted (1 + 2 + 6 + 24) / 8 */
  static const struct {
    int32_t mode;
    float expected;
    double weight;
  } cases[] = {{GRADSTEP_ACCUMULATE_SUM, 12, 4},
               {GRADSTEP_ACCUMULATE_MEAN_EACH, 3, 4},
               {GRADSTEP_ACCUMULATE_MEAN, 3, 4},
               {GRADSTEP_ACCUMULATE_RUNNING_MEAN, 3, 4},
               {GRADSTEP_ACCUMULATE_WEIGHTED, 4.125F, 8}};
  fixture* f = *state;
  f->options.steps = 4;
  for (size_t i = 0; i < COUNT_OF(cases); ++i) {
    double weight = 0;
    f->options.mode = cases[i].mode;
    create(f);
    for (int window = 0; window < 2; ++window) {
      assert_int_equal(add_constant(f, 1, 1), 0);
      assert_int_equal(add_constant(f, 2, 1), 0);
      assert_int_equal(add_constant(f, 3, 2), 0);
      assert_int_equal(count_of(f), 3);
      assert_int_equal(add_constant(f, 6, 4), 1);
      assert_int_equal(count_of(f), 4);
      assert_result(f, cases[i].expected);
      assert_ok(gradstep_accumulator_weight(f->accumulator, &weight));
      assert_true(weight == cases[i].weight);
    }
    gradstep_accumulator_destroy(f->accumulator);
    f->accumulator = NULL;
  }
}

static void norm_is_that_of_the_result(void** state) {
  fixture* f = *state;
  gradstep_tensor norm;
  f->options.steps = 2;
  create(f);
  add_constant(f, 1, 1);
  assert_fails(gradstep_accumulator_norm(f->accumulator, &norm, NULL), GRADSTEP_ERR_INVALID_STATE, "window");
  add_constant(f, 3, 1);
  assert_ok(gradstep_accumulator_norm(f->accumulator, &norm, NULL));
  assert_int_equal(norm.ndim, 1);
  assert_int_equal(norm.shape[0], 1);
  assert_int_equal(norm.dtype.bits, 64);
  /* nine elements of value 2: the squares sum to 36, a perfect square */
  assert_true(*(const double*)norm.data == 6);
}

static void streams_are_for_devices(void** state) {
  fixture* f = *state;
  gradstep_tensor views[kModelParameters];
  create(f);
  assert_fails(gradstep_accumulator_add(f->accumulator, f->m.gradients, kModelParameters, 1, f, NULL),
               GRADSTEP_ERR_INVALID_ARGUMENT, "stream", "CPU");
  assert_int_equal(add_constant(f, 1, 1), 1);
  assert_fails(gradstep_accumulator_gradients(f->accumulator, views, kModelParameters, f),
               GRADSTEP_ERR_INVALID_ARGUMENT, "stream", "CPU");
  assert_fails(gradstep_accumulator_sums(f->accumulator, views, kModelParameters, f), GRADSTEP_ERR_INVALID_ARGUMENT,
               "stream", "CPU");
  assert_fails(gradstep_accumulator_norm(f->accumulator, views, f), GRADSTEP_ERR_INVALID_ARGUMENT, "stream", "CPU");
}

static void nothing_is_under_way_on_the_cpu_when_an_add_returns(void** state) {
  fixture* f = *state;
  int32_t done = 0;
  create(f);
  assert_int_equal(add_constant(f, 1, 1), 1);
  assert_ok(gradstep_accumulator_poll(f->accumulator, &done));
  assert_int_equal(done, 1);
  assert_fails(gradstep_accumulator_poll(f->accumulator, NULL), GRADSTEP_ERR_INVALID_ARGUMENT, "done", "NULL");
}

static void partial_window_is_divided_by_what_was_added(void** state) {
  static const int32_t modes[] = {GRADSTEP_ACCUMULATE_MEAN_EACH, GRADSTEP_ACCUMULATE_MEAN,
                                  GRADSTEP_ACCUMULATE_RUNNING_MEAN};
  fixture* f = *state;
  f->options.steps = 8;
  for (size_t i = 0; i < COUNT_OF(modes); ++i) {
    int32_t ready = -1;
    f->options.mode = modes[i];
    create(f);
    assert_ok(gradstep_accumulator_flush(f->accumulator, NULL, &ready));
    assert_int_equal(ready, 0);
    add_constant(f, 1, 1);
    add_constant(f, 4, 1);
    assert_ok(gradstep_accumulator_flush(f->accumulator, NULL, &ready));
    assert_int_equal(ready, 1);
    assert_result(f, 2.5F);
    assert_ok(gradstep_accumulator_flush(f->accumulator, NULL, &ready));
    assert_int_equal(ready, 1);
    assert_result(f, 2.5F);
    assert_int_equal(count_of(f), 2);
    gradstep_accumulator_destroy(f->accumulator);
    f->accumulator = NULL;
  }
}

static void reset_drops_the_window(void** state) {
  fixture* f = *state;
  gradstep_tensor results[kModelParameters];
  f->options.steps = 2;
  create(f);
  add_constant(f, 7, 1);
  assert_ok(gradstep_accumulator_reset(f->accumulator, NULL));
  assert_int_equal(count_of(f), 0);
  add_constant(f, 1, 1);
  assert_int_equal(add_constant(f, 3, 1), 1);
  assert_result(f, 2);
  assert_ok(gradstep_accumulator_reset(f->accumulator, NULL));
  assert_fails(gradstep_accumulator_gradients(f->accumulator, results, kModelParameters, NULL),
               GRADSTEP_ERR_INVALID_STATE, "window");
}

static void views_keep_their_address_and_are_writable(void** state) {
  fixture* f = *state;
  gradstep_tensor first[kModelParameters], second[kModelParameters];
  create(f);
  add_constant(f, 1, 1);
  assert_ok(gradstep_accumulator_gradients(f->accumulator, first, kModelParameters, NULL));
  ((float*)first[0].data)[0] = 99;
  add_constant(f, 2, 1);
  assert_ok(gradstep_accumulator_gradients(f->accumulator, second, kModelParameters, NULL));
  assert_ptr_equal(first[0].data, second[0].data);
  assert_ptr_equal(first[1].data, second[1].data);
  assert_result(f, 2);
}

static void min_weight_ends_the_window_by_weight(void** state) {
  fixture* f = *state;
  f->options.mode = GRADSTEP_ACCUMULATE_WEIGHTED;
  f->options.trigger = GRADSTEP_TRIGGER_MIN_WEIGHT;
  f->options.min_weight = 10;
  create(f);
  assert_int_equal(add_constant(f, 1, 6), 0);
  assert_int_equal(add_constant(f, 3, 3.5), 0);
  assert_int_equal(add_constant(f, 2, 6.5), 1);
  assert_result(f, 1.84375F); /* (6 + 10.5 + 13) / 16 */
}

static void schedule_sets_the_length_of_each_window(void** state) {
  const int64_t boundaries[] = {0, 1};
  const double lengths[] = {1, 2, 4};
  fixture* f = *state;
  gradstep_schedule schedule;
  int released = 0;
  assert_ok(gradstep_schedule_init(&schedule, sizeof schedule));
  schedule.kind = GRADSTEP_SCHEDULE_PIECEWISE;
  schedule.n_points = 3;
  schedule.boundaries = boundaries;
  schedule.values = lengths;
  schedule.user = &released;
  schedule.release = count_release;
  f->options.trigger = GRADSTEP_TRIGGER_SCHEDULE;
  f->options.schedule = &schedule;
  create(f);
  assert_int_equal(add_constant(f, 1, 1), 1);
  assert_int_equal(add_constant(f, 1, 1), 0);
  assert_int_equal(add_constant(f, 1, 1), 1);
  for (int i = 0; i < 3; ++i) assert_int_equal(add_constant(f, 1, 1), 0);
  assert_int_equal(add_constant(f, 1, 1), 1);
  assert_result(f, 1);
  gradstep_accumulator_destroy(f->accumulator);
  f->accumulator = NULL;
  assert_int_equal(released, 1);
}

static void failing_create_releases_its_schedule_once(void** state) {
  fixture* f = *state;
  gradstep_schedule schedule;
  int released = 0;
  assert_ok(gradstep_schedule_init(&schedule, sizeof schedule));
  schedule.init_value = 2;
  schedule.user = &released;
  schedule.release = count_release;
  f->options.trigger = GRADSTEP_TRIGGER_SCHEDULE;
  f->options.schedule = &schedule;
  f->options.mode = 77;
  assert_fails(gradstep_accumulator_create(f->context, &f->options, f->m.parameters, kModelParameters, &f->accumulator),
               GRADSTEP_ERR_INVALID_ARGUMENT, "mode", "77");
  assert_int_equal(released, 1);
}

static void sums_are_undivided(void** state) {
  fixture* f = *state;
  gradstep_tensor sums[kModelParameters];
  f->options.mode = GRADSTEP_ACCUMULATE_MEAN;
  f->options.steps = 2;
  f->options.keep_sums = 1;
  create(f);
  add_constant(f, 1, 1);
  assert_ok(gradstep_accumulator_sums(f->accumulator, sums, kModelParameters, NULL));
  assert_true(*(const float*)sums[0].data == 1);
  add_constant(f, 4, 1);
  assert_ok(gradstep_accumulator_sums(f->accumulator, sums, kModelParameters, NULL));
  assert_true(*(const float*)sums[1].data == 5);
  assert_result(f, 2.5F);
  assert_fails(gradstep_accumulator_sums(f->accumulator, sums, kModelParameters, NULL), GRADSTEP_ERR_INVALID_STATE,
               "sums");
}

static void sums_of_mean_each_do_not_exist(void** state) {
  fixture* f = *state;
  gradstep_tensor sums[kModelParameters];
  create(f);
  assert_fails(gradstep_accumulator_sums(f->accumulator, sums, kModelParameters, NULL), GRADSTEP_ERR_UNSUPPORTED,
               "mean_each");
}

static void skip_leaves_a_non_finite_micro_batch_out(void** state) {
  fixture* f = *state;
  int64_t skipped = -1;
  int32_t ready = -1;
  f->options.steps = 2;
  f->options.nonfinite = GRADSTEP_NONFINITE_SKIP;
  create(f);
  add_constant(f, 1, 1);
  f->m.grads[8] = INFINITY;
  assert_ok(gradstep_accumulator_add(f->accumulator, f->m.gradients, kModelParameters, 1, NULL, &ready));
  assert_int_equal(ready, 0);
  assert_int_equal(count_of(f), 1);
  assert_int_equal(add_constant(f, 3, 1), 1);
  assert_result(f, 2);
  assert_ok(gradstep_accumulator_skipped(f->accumulator, &skipped));
  assert_int_equal(skipped, 1);
}

static void poison_shows_in_the_norm(void** state) {
  fixture* f = *state;
  gradstep_tensor norm;
  f->options.nonfinite = GRADSTEP_NONFINITE_POISON;
  create(f);
  f->m.grads[4] = NAN;
  assert_ok(gradstep_accumulator_add(f->accumulator, f->m.gradients, kModelParameters, 1, NULL, NULL));
  assert_ok(gradstep_accumulator_norm(f->accumulator, &norm, NULL));
  assert_true(!isfinite(*(const double*)norm.data));
}

static void absent_gradients_have_no_result(void** state) {
  fixture* f = *state;
  gradstep_tensor results[kModelParameters];
  f->options.steps = 2;
  create(f);
  f->m.gradients[1].data = NULL;
  add_constant(f, 1, 1);
  assert_int_equal(add_constant(f, 3, 1), 1);
  assert_ok(gradstep_accumulator_gradients(f->accumulator, results, kModelParameters, NULL));
  assert_null(results[1].data);
  assert_true(*(const float*)results[0].data == 2);
}

static void sparse_rows_join_their_micro_batch(void** state) {
  const int64_t rows_shape[] = {3};
  const int64_t values_shape[] = {3, 3};
  int64_t indices[] = {1, 0, 1};
  float values[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  const float expected[] = {2.25F, 2.75F, 3.25F, 4.25F, 5.25F, 6.25F}; /* (0.25 + 0.25 + rows) / 2; row 1 twice */
  const gradstep_tensor index_tensor = tensor_of(indices, (gradstep_dtype){GRADSTEP_TYPE_INT, 64, 1}, 1, rows_shape);
  const gradstep_tensor value_tensor = tensor_f32(values, 2, values_shape);
  gradstep_rows rows;
  gradstep_tensor results[kModelParameters];
  int32_t ready = -1;
  fixture* f = *state;
  f->options.steps = 2;
  create(f);
  memset(&rows, 0, sizeof rows);
  rows.struct_size = sizeof rows;
  rows.indices = &index_tensor;
  rows.values = &value_tensor;
  for (int i = 0; i < kModelElements; ++i) f->m.grads[i] = 0.25F;
  assert_ok(gradstep_accumulator_add_ex(f->accumulator, f->m.gradients, kModelParameters, &rows, 1, 1, NULL, &ready));
  assert_int_equal(ready, 0);
  assert_int_equal(count_of(f), 1);
  assert_int_equal(add_constant(f, 0.25F, 1), 1);
  assert_ok(gradstep_accumulator_gradients(f->accumulator, results, kModelParameters, NULL));
  assert_memory_equal(results[0].data, expected, sizeof expected);

  indices[2] = 2;
  assert_fails(gradstep_accumulator_add_ex(f->accumulator, NULL, 0, &rows, 1, 1, NULL, NULL),
               GRADSTEP_ERR_INVALID_ARGUMENT, "indices", "2");
  assert_int_equal(count_of(f), 2);
}

static void bad_options_are_named(void** state) {
  fixture* f = *state;
  gradstep_accumulator_options o;
  gradstep_accumulator* accumulator = NULL;
#define REFUSED(field, value, ...)                                                                             \
  do {                                                                                                         \
    o = f->options;                                                                                            \
    o.field = (value);                                                                                         \
    assert_fails(gradstep_accumulator_create(f->context, &o, f->m.parameters, kModelParameters, &accumulator), \
                 GRADSTEP_ERR_INVALID_ARGUMENT, #field, __VA_ARGS__);                                          \
    assert_null(accumulator);                                                                                  \
  } while (0)
  REFUSED(steps, 0, "0");
  REFUSED(steps, -3, "-3");
  REFUSED(mode, -1, "-1");
  REFUSED(trigger, 4, "4");
  REFUSED(nonfinite, 3, "3");
  REFUSED(trigger, GRADSTEP_TRIGGER_MANUAL, "mean_each");
  f->options.trigger = GRADSTEP_TRIGGER_MIN_WEIGHT;
  REFUSED(min_weight, 0, "0");
  REFUSED(min_weight, NAN, "nan");
  f->options.trigger = GRADSTEP_TRIGGER_SCHEDULE;
  REFUSED(schedule, NULL, "NULL");
#undef REFUSED
  assert_fails(gradstep_accumulator_create(f->context, NULL, f->m.parameters, kModelParameters, NULL),
               GRADSTEP_ERR_INVALID_ARGUMENT, "out");
  assert_fails(gradstep_accumulator_create(f->context, NULL, NULL, kModelParameters, &accumulator),
               GRADSTEP_ERR_INVALID_ARGUMENT, "parameters", "NULL");
  f->m.parameters[1].name = f->m.parameters[0].name;
  assert_fails(gradstep_accumulator_create(f->context, NULL, f->m.parameters, kModelParameters, &accumulator),
               GRADSTEP_ERR_INVALID_ARGUMENT, "parameters[1]", "dense.weight");
}

static void bad_gradients_are_named_and_add_nothing(void** state) {
  const int64_t wrong_shape[] = {3, 2};
  float elsewhere[6] = {0};
  double doubles[3] = {0};
  fixture* f = *state;
  gradstep_tensor bad[kModelParameters];
  f->options.steps = 2;
  create(f);
  add_constant(f, 1, 1);
#define REFUSED(...)                                                                                         \
  assert_fails(gradstep_accumulator_add(f->accumulator, bad, kModelParameters, 1, NULL, NULL), __VA_ARGS__); \
  memcpy(bad, f->m.gradients, sizeof bad)
  memcpy(bad, f->m.gradients, sizeof bad);
  bad[0] = tensor_f32(elsewhere, 2, wrong_shape);
  REFUSED(GRADSTEP_ERR_INVALID_ARGUMENT, "grads[0]", "(3,2)", "dense.weight", "(2,3)");
  bad[1] = tensor_of(doubles, dtype_f64(), 1, bad[1].shape);
  REFUSED(GRADSTEP_ERR_INVALID_ARGUMENT, "grads[1]", "f64", "dense.bias");
  bad[1].dtype.code = GRADSTEP_TYPE_INT;
  REFUSED(GRADSTEP_ERR_INVALID_ARGUMENT, "grads[1]", "dense.bias");
  bad[1].device.device_type = GRADSTEP_DEVICE_CUDA;
  REFUSED(GRADSTEP_ERR_INVALID_ARGUMENT, "grads[1]", "cuda", "dense.bias");
  bad[1].data = (char*)bad[1].data + 1;
  REFUSED(GRADSTEP_ERR_INVALID_ARGUMENT, "grads[1]", "aligned");
#undef REFUSED
  assert_fails(gradstep_accumulator_add(f->accumulator, bad, 1, 1, NULL, NULL), GRADSTEP_ERR_INVALID_ARGUMENT, "grads",
               "1", "2");
  assert_fails(gradstep_accumulator_add(f->accumulator, NULL, kModelParameters, 1, NULL, NULL),
               GRADSTEP_ERR_INVALID_ARGUMENT, "grads", "NULL");
  assert_fails(gradstep_accumulator_add(f->accumulator, bad, kModelParameters, -1, NULL, NULL),
               GRADSTEP_ERR_INVALID_ARGUMENT, "weight", "-1");
  assert_fails(gradstep_accumulator_add(f->accumulator, bad, kModelParameters, NAN, NULL, NULL),
               GRADSTEP_ERR_INVALID_ARGUMENT, "weight", "nan");
  assert_fails(gradstep_accumulator_add(NULL, bad, kModelParameters, 1, NULL, NULL), GRADSTEP_ERR_INVALID_ARGUMENT,
               "accumulator", "NULL");
  assert_int_equal(count_of(f), 1);
  assert_int_equal(add_constant(f, 3, 1), 1);
  assert_result(f, 2);
}

static void strided_gradients_are_read_by_their_strides(void** state) {
  /* a (3,2) row-major buffer seen as its (2,3) transpose */
  static const int64_t transposed[] = {1, 2};
  float buffer[] = {1, 4, 2, 5, 3, 6};
  const float expected[] = {1, 2, 3, 4, 5, 6};
  gradstep_tensor results[kModelParameters];
  fixture* f = *state;
  create(f);
  f->m.gradients[0].data = buffer;
  memcpy(&f->m.gradients[0].strides, &(const int64_t*){transposed}, sizeof(int64_t*));
  assert_ok(gradstep_accumulator_add(f->accumulator, f->m.gradients, kModelParameters, 1, NULL, NULL));
  assert_ok(gradstep_accumulator_gradients(f->accumulator, results, kModelParameters, NULL));
  assert_memory_equal(results[0].data, expected, sizeof expected);
}

static void tensors_without_elements_are_legal(void** state) {
  const int64_t shape[] = {0, 4};
  const gradstep_parameter parameter = parameter_f32("empty", 2, shape);
  const gradstep_tensor gradient = tensor_f32(NULL, 2, shape);
  gradstep_tensor result;
  int32_t ready = 0;
  fixture* f = *state;
  assert_ok(gradstep_accumulator_create(f->context, NULL, &parameter, 1, &f->accumulator));
  assert_ok(gradstep_accumulator_add(f->accumulator, &gradient, 1, 1, NULL, &ready));
  assert_int_equal(ready, 1);
  assert_ok(gradstep_accumulator_gradients(f->accumulator, &result, 1, NULL));
  assert_int_equal(result.shape[0], 0);
}

static void f64_gradients_are_summed_in_f64(void** state) {
  const int64_t shape[] = {1};
  double gradient = 1.0 / 3;
  gradstep_parameter parameter = parameter_f32("p", 1, shape);
  const gradstep_tensor tensor = tensor_of(&gradient, dtype_f64(), 1, shape);
  gradstep_tensor result;
  fixture* f = *state;
  parameter.dtype = dtype_f64();
  f->options.mode = GRADSTEP_ACCUMULATE_SUM;
  f->options.steps = 2;
  assert_ok(gradstep_accumulator_create(f->context, &f->options, &parameter, 1, &f->accumulator));
  assert_ok(gradstep_accumulator_add(f->accumulator, &tensor, 1, 1, NULL, NULL));
  assert_ok(gradstep_accumulator_add(f->accumulator, &tensor, 1, 1, NULL, NULL));
  assert_ok(gradstep_accumulator_gradients(f->accumulator, &result, 1, NULL));
  assert_int_equal(result.dtype.bits, 64);
  assert_true(*(const double*)result.data == 2.0 / 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(defaults_pass_every_micro_batch_through),
      TEST(each_mode_has_its_result),
      TEST(norm_is_that_of_the_result),
      TEST(streams_are_for_devices),
      TEST(nothing_is_under_way_on_the_cpu_when_an_add_returns),
      TEST(partial_window_is_divided_by_what_was_added),
      TEST(reset_drops_the_window),
      TEST(views_keep_their_address_and_are_writable),
      TEST(min_weight_ends_the_window_by_weight),
      TEST(schedule_sets_the_length_of_each_window),
      TEST(failing_create_releases_its_schedule_once),
      TEST(sums_are_undivided),
      TEST(sums_of_mean_each_do_not_exist),
      TEST(skip_leaves_a_non_finite_micro_batch_out),
      TEST(poison_shows_in_the_norm),
      TEST(absent_gradients_have_no_result),
      TEST(sparse_rows_join_their_micro_batch),
      TEST(bad_options_are_named),
      TEST(bad_gradients_are_named_and_add_nothing),
      TEST(strided_gradients_are_read_by_their_strides),
      TEST(tensors_without_elements_are_legal),
      TEST(f64_gradients_are_summed_in_f64),
  };
  return cmocka_run_group_tests_name("accumulator", tests, NULL, NULL);
}
