/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Shampoo through the C API: state by block and axis, metrics, bad input. Its numbers are in tests/conformance.
 */
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "optimizer_fixture.h"

static gradstep_shampoo_options options_of_test(void) {
  gradstep_shampoo_options o;
  assert_ok(gradstep_shampoo_options_init(&o, sizeof o));
  assert_true(isnan(o.learning_rate));
  o.learning_rate = 0.125;
  o.block_size = 2;
  return o;
}

static void create(fixture* f, const gradstep_shampoo_options* o) {
  gradstep_optimizer_destroy(f->optimizer);
  f->optimizer = NULL;
  assert_ok(gradstep_optimizer_create_shampoo(f->context, o, f->m.parameters, kModelParameters, &f->optimizer));
}

static void state_bytes_are_what_the_handle_holds(void** state) {
  fixture* f = *state;
  const gradstep_shampoo_options o = options_of_test();
  gradstep_memory memory;
  int64_t bytes = 0;
  create(f, &o);
  assert_ok(gradstep_shampoo_state_bytes(&o, f->m.parameters, kModelParameters, &bytes));
  memory.struct_size = sizeof memory;
  assert_ok(gradstep_optimizer_memory(f->optimizer, &memory));
  assert_true(memory.state_bytes == bytes);
  assert_true(bytes > 2 * kModelElements * (int64_t)sizeof(float));
}

static void matrices_have_their_own_shape(void** state) {
  fixture* f = *state;
  const gradstep_shampoo_options o = options_of_test();
  const int64_t shape[] = {2, 2};
  float values[4] = {4, 1, 1, 4};
  float read[4] = {0, 0, 0, 0};
  gradstep_tensor tensor = tensor_f32(values, 2, shape);
  gradstep_tensor view;
  create(f, &o);
  assert_ok(gradstep_optimizer_set_state(f->optimizer, 1, "statistics.0.0", &tensor, NULL));
  assert_ok(gradstep_optimizer_state(f->optimizer, 1, "statistics.0.0", &view));
  assert_int_equal(view.ndim, 2);
  assert_true(view.shape[0] == 2 && view.shape[1] == 2);
  assert_memory_equal(view.data, values, sizeof values);
  tensor.data = read;
  assert_ok(gradstep_optimizer_get_state(f->optimizer, 1, "preconditioners.0.0", &tensor, NULL));
  assert_true(read[0] == 1 && read[1] == 0 && read[3] == 1);
  assert_fails(gradstep_optimizer_get_state(f->optimizer, 1, "preconditioners.1.0", &tensor, NULL),
               GRADSTEP_ERR_INVALID_ARGUMENT, "preconditioners.1.0", "(1,1)");
  assert_fails(gradstep_optimizer_get_state(f->optimizer, 1, "preconditioners.9.0", &tensor, NULL),
               GRADSTEP_ERR_INVALID_ARGUMENT, "preconditioners.9.0");
}

static void averages_of_weights_are_as_in_the_other_rules(void** state) {
  fixture* f = *state;
  gradstep_shampoo_options o = options_of_test();
  float averages[kModelElements] = {0};
  gradstep_tensor tensors[kModelParameters];
  int64_t plain = 0;
  int64_t averaged = 0;
  for (size_t i = 0; i < kModelParameters; ++i) {
    tensors[i] = f->m.params[i];
    tensors[i].data = averages + ((const float*)f->m.params[i].data - f->m.values);
  }
  create(f, &o);
  step(f);
  assert_fails(gradstep_optimizer_average(f->optimizer, tensors, kModelParameters, NULL), GRADSTEP_ERR_INVALID_STATE,
               "has neither average_decay nor average_equal");
  assert_ok(gradstep_shampoo_state_bytes(&o, f->m.parameters, kModelParameters, &plain));
  o.average_equal = 1;
  o.average_every = 0; /* what a host has that knows no such field; as 1 */
  assert_ok(gradstep_shampoo_state_bytes(&o, f->m.parameters, kModelParameters, &averaged));
  assert_int_equal(averaged - plain,
                   kModelElements * (int64_t)sizeof(float) + kModelParameters * (int64_t)sizeof(double));
  for (int soap = 0; soap < 2; ++soap) {
    double sum = 0;
    o.eigenvalue_corrected = soap;
    create(f, &o);
    for (int t = 0; t < 3; ++t) {
      step(f);
      sum += f->m.values[0];
    }
    assert_ok(gradstep_optimizer_average(f->optimizer, tensors, kModelParameters, NULL));
    assert_float_equal(averages[0], sum / 3, 1e-6);
  }
  gradstep_optimizer* none = NULL;
  o.average_decay = 0.5;
  assert_fails(gradstep_optimizer_create_shampoo(f->context, &o, f->m.parameters, kModelParameters, &none),
               GRADSTEP_ERR_INVALID_ARGUMENT, "options.average_equal: does not go with average_decay, which is 0.5");
  o.average_decay = 1;
  assert_fails(gradstep_optimizer_create_shampoo(f->context, &o, f->m.parameters, kModelParameters, &none),
               GRADSTEP_ERR_INVALID_ARGUMENT, "options.average_decay: is 1, expected a number in [0, 1)");
}

static void metrics_tell_of_every_statistic(void** state) {
  fixture* f = *state;
  const gradstep_shampoo_options o = options_of_test();
  gradstep_metric metrics[64];
  size_t count = 0;
  size_t failures = 0;
  create(f, &o);
  step(f);
  assert_ok(gradstep_optimizer_metrics(f->optimizer, metrics, sizeof metrics[0], 64, &count));
  assert_true(count > 2 && count <= 64);
  for (size_t i = 0; i < count; ++i) {
    if (strcmp(metrics[i].name, "root_failures") == 0) {
      assert_true(metrics[i].value == 0 && metrics[i].parameter >= 0 && metrics[i].block >= 0 && metrics[i].axis >= 0);
      ++failures;
    }
    if (strcmp(metrics[i].name, "preconditioner_age") == 0) assert_true(metrics[i].value == 0);
  }
  assert_true(failures > 0);
}

static void what_does_not_fit_is_refused(void** state) {
  fixture* f = *state;
  gradstep_shampoo_options o = options_of_test();
  o.learning_rate = NAN;
  assert_fails(gradstep_optimizer_create_shampoo(f->context, &o, f->m.parameters, kModelParameters, &f->optimizer),
               GRADSTEP_ERR_INVALID_ARGUMENT, "learning_rate", "set");
  o = options_of_test();
  o.block_size = 0;
  assert_fails(gradstep_optimizer_create_shampoo(f->context, &o, f->m.parameters, kModelParameters, &f->optimizer),
               GRADSTEP_ERR_INVALID_ARGUMENT, "block_size", "0");
  o.block_size = 2;
  o.root_lag = 1001;
  assert_fails(gradstep_optimizer_create_shampoo(f->context, &o, f->m.parameters, kModelParameters, &f->optimizer),
               GRADSTEP_ERR_INVALID_ARGUMENT, "root_lag", "1001");
  o.root_lag = 2;
  o.product_precision = 2;
  assert_fails(gradstep_optimizer_create_shampoo(f->context, &o, f->m.parameters, kModelParameters, &f->optimizer),
               GRADSTEP_ERR_INVALID_ARGUMENT, "product_precision", "2");
  o.product_precision = GRADSTEP_PRODUCT_PRECISION_F32;
  o.eigenvalue_corrected = 1;
  assert_fails(gradstep_optimizer_create_shampoo(f->context, &o, f->m.parameters, kModelParameters, &f->optimizer),
               GRADSTEP_ERR_UNSUPPORTED, "root_lag", "eigenvalue_corrected");
  assert_null(f->optimizer);
}

static void every_mode_steps(void** state) {
  fixture* f = *state;
  for (int32_t mode = 0; mode < 5; ++mode) {
    gradstep_shampoo_options o = options_of_test();
    o.start_preconditioning_step = 0;
    o.root_lag = mode == 0 ? 2 : 0;
    o.one_sided = mode == 1 ? GRADSTEP_ONE_SIDED_INPUT : mode == 2 ? GRADSTEP_ONE_SIDED_OUTPUT : 0;
    o.eigenvalue_corrected = mode == 3;
    o.root_precision = mode == 4 ? GRADSTEP_ROOT_PRECISION_F32 : GRADSTEP_ROOT_PRECISION_F64;
    create(f, &o);
    for (int64_t t = 1; t <= 4; ++t) {
      step(f);
      assert_int_equal(steps_of(f), t);
    }
  }
}

static void blocks_are_dealt_out(void** state) {
  fixture* f = *state;
  gradstep_comm* comm = NULL;
  gradstep_sharding_options sharding;
  gradstep_tensor view;
  const gradstep_shampoo_options o = options_of_test();
  create(f, &o);
  assert_ok(gradstep_comm_create_local(f->context, 1, &comm));
  assert_ok(gradstep_sharding_options_init(&sharding, sizeof sharding));
  assert_int_equal(sharding.preconditioners, GRADSTEP_SHARDED_PRECONDITIONERS_REPLICATED);
  sharding.preconditioners = 2;
  assert_fails(gradstep_optimizer_attach_comm(f->optimizer, comm, &sharding), GRADSTEP_ERR_INVALID_ARGUMENT,
               "options.preconditioners", "2");
  sharding.preconditioners = GRADSTEP_SHARDED_PRECONDITIONERS_OWNED;
  assert_ok(gradstep_optimizer_attach_comm(f->optimizer, comm, &sharding));
  gradstep_comm_destroy(comm);
  step(f);
  assert_int_equal(steps_of(f), 1);
  assert_fails(gradstep_optimizer_state(f->optimizer, 1, "statistics.0.0", &view), GRADSTEP_ERR_UNSUPPORTED,
               "get_state");
  assert_ok(gradstep_optimizer_attach_comm(f->optimizer, NULL, NULL));
  assert_ok(gradstep_optimizer_state(f->optimizer, 1, "statistics.0.0", &view));
}

/* The stack that base.h asks for; sanitizers' frames are many times as large. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { kStack = 16 << 20 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
enum { kStack = 16 << 20 };
#else
enum { kStack = 256 << 10 };
#endif
#else
enum { kStack = 256 << 10 };
#endif

enum { kSide = 300 };
static float wide[kSide * kSide], wide_grad[kSide * kSide];

/* Whole blocks of 300: the largest dense algebra that a step has, on the calling thread alone. Returns the last status.
 */
static void* steps_with_large_blocks(void* user) {
  gradstep_context* context = *(gradstep_context**)user;
  static const int64_t shape[] = {kSide, kSide};
  static gradstep_status status;
  const gradstep_parameter parameter = parameter_f32("wide", 2, shape);
  const gradstep_tensor p = tensor_f32(wide, 2, shape), g = tensor_f32(wide_grad, 2, shape);
  for (int32_t mode = 0; mode < 4; ++mode) {
    gradstep_shampoo_options o;
    gradstep_optimizer* optimizer = NULL;
    status = gradstep_shampoo_options_init(&o, sizeof o);
    o.learning_rate = 0.125;
    o.block_size = 512;
    o.start_preconditioning_step = 0;
    o.root_method = mode == 0 ? GRADSTEP_ROOT_METHOD_COUPLED_NEWTON : GRADSTEP_ROOT_METHOD_EIGH;
    o.root_precision = mode == 2 ? GRADSTEP_ROOT_PRECISION_F32 : GRADSTEP_ROOT_PRECISION_F64;
    o.eigenvalue_corrected = mode == 3;
    if (status == GRADSTEP_OK) status = gradstep_optimizer_create_shampoo(context, &o, &parameter, 1, &optimizer);
    for (int t = 0; t < 2 && status == GRADSTEP_OK; ++t) status = gradstep_optimizer_step(optimizer, &p, &g, 1, NULL);
    gradstep_optimizer_destroy(optimizer);
    if (status != GRADSTEP_OK) break;
  }
  return &status;
}

static void steps_fit_into_256_KiB_of_stack(void** state) {
  gradstep_context* context = new_context(1);
  pthread_attr_t attributes;
  pthread_t thread;
  void* status = NULL;
  (void)state;
  for (int i = 0; i < kSide * kSide; ++i) wide_grad[i] = (float)(i % 977) / 977 - 0.5F;
  assert_int_equal(pthread_attr_init(&attributes), 0);
  assert_int_equal(pthread_attr_setstacksize(&attributes, kStack), 0);
  assert_int_equal(pthread_create(&thread, &attributes, steps_with_large_blocks, &context), 0);
  assert_int_equal(pthread_join(thread, &status), 0);
  assert_int_equal(*(gradstep_status*)status, GRADSTEP_OK);
  pthread_attr_destroy(&attributes);
  gradstep_context_destroy(context);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(state_bytes_are_what_the_handle_holds),
      TEST(matrices_have_their_own_shape),
      TEST(averages_of_weights_are_as_in_the_other_rules),
      TEST(metrics_tell_of_every_statistic),
      TEST(every_mode_steps),
      TEST(blocks_are_dealt_out),
      TEST(what_does_not_fit_is_refused),
      TEST(steps_fit_into_256_KiB_of_stack),
  };
  return cmocka_run_group_tests_name("shampoo", tests, NULL, NULL);
}
