/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * What the headers call UNSUPPORTED, asked for through every function that says so. tests/unsupported.toml has the
 * sentences, and the tests elsewhere that show the rest of them.
 */
#include <string.h>

#include "support.h"

static int setup(void** state) {
  *state = new_context(1);
  return 0;
}

static int teardown(void** state) {
  gradstep_context_destroy(*state);
  return 0;
}

static gradstep_comm* alone(gradstep_context* context) {
  gradstep_comm* comm = NULL;
  gradstep_comm_options options;
  assert_ok(gradstep_comm_options_init(&options, sizeof options));
  options.engine = "self";
  assert_ok(gradstep_comm_create(context, &options, &comm));
  return comm;
}

static gradstep_sgd_options sgd_options(void) {
  gradstep_sgd_options options;
  assert_ok(gradstep_sgd_options_init(&options, sizeof options));
  options.learning_rate = 0.5;
  return options;
}

static gradstep_shampoo_options shampoo_options(void) {
  gradstep_shampoo_options options;
  assert_ok(gradstep_shampoo_options_init(&options, sizeof options));
  options.learning_rate = 0.5;
  return options;
}

static const int64_t kShape[] = {4};

/* Every function that takes a schema refuses this parameter, with `text`. */
static void assert_schema_is_unsupported(gradstep_context* context, const gradstep_parameter* parameter,
                                         const char* text) {
  const gradstep_sgd_options sgd = sgd_options();
  const gradstep_shampoo_options shampoo = shampoo_options();
  gradstep_comm* comm = alone(context);
  gradstep_accumulator* accumulator = NULL;
  gradstep_reducer* reducer = NULL;
  gradstep_optimizer *optimizer = NULL, *grown = NULL;
  int64_t bytes = 0;
  assert_ok(gradstep_optimizer_create_sgd(context, &sgd, NULL, 0, &grown));
  assert_fails(gradstep_accumulator_create(context, NULL, parameter, 1, &accumulator), GRADSTEP_ERR_UNSUPPORTED, text);
  assert_fails(gradstep_reducer_create(context, comm, NULL, parameter, 1, &reducer), GRADSTEP_ERR_UNSUPPORTED, text);
  assert_fails(gradstep_optimizer_create_sgd(context, &sgd, parameter, 1, &optimizer), GRADSTEP_ERR_UNSUPPORTED, text);
  assert_fails(gradstep_optimizer_create_shampoo(context, &shampoo, parameter, 1, &optimizer), GRADSTEP_ERR_UNSUPPORTED,
               text);
  assert_fails(gradstep_optimizer_add_parameters(grown, parameter, 1), GRADSTEP_ERR_UNSUPPORTED, text);
  assert_fails(gradstep_sgd_state_bytes(&sgd, parameter, 1, &bytes), GRADSTEP_ERR_UNSUPPORTED, text);
  assert_fails(gradstep_shampoo_state_bytes(&shampoo, parameter, 1, &bytes), GRADSTEP_ERR_UNSUPPORTED, text);
  gradstep_optimizer_destroy(grown);
  gradstep_comm_destroy(comm);
}

static void devices_and_flags_of_a_schema_that_are_unknown(void** state) {
  gradstep_parameter parameter = parameter_f32("p", 1, kShape);
  parameter.device.device_type = 12;
  assert_schema_is_unsupported(*state, &parameter, "type 12");
  parameter = parameter_f32("p", 1, kShape);
  parameter.flags = 0x80;
  assert_schema_is_unsupported(*state, &parameter, "0x80");
}

static void collectives_on_tensors_with_gaps_or_half_bytes(void** state) {
  static const int64_t kOne[] = {2, 2}, kGaps[] = {1, 2}, kCounts[] = {4, 4};
  float values[16] = {0};
  gradstep_comm* comms[2];
  const int64_t* strides = kGaps;
  gradstep_tensor whole = tensor_f32(values, 2, kOne), gaps = whole;
  memcpy(&gaps.strides, &strides, sizeof strides); /* as in tensor_of */
  new_local_comms(*state, 2, 1000, comms);
#define UNSUPPORTED(tensor, text, call) assert_fails(call, GRADSTEP_ERR_UNSUPPORTED, #tensor, text)
  UNSUPPORTED(tensor, "not contiguous", gradstep_comm_all_reduce(comms[0], &gaps, 0, NULL));
  UNSUPPORTED(input, "not contiguous", gradstep_comm_all_gather(comms[0], &gaps, &whole, NULL));
  UNSUPPORTED(output, "not contiguous", gradstep_comm_all_gather(comms[0], &whole, &gaps, NULL));
  UNSUPPORTED(input, "not contiguous", gradstep_comm_all_gather_v(comms[0], &gaps, &whole, kCounts, NULL));
  UNSUPPORTED(input, "not contiguous", gradstep_comm_reduce_scatter(comms[0], &gaps, &whole, 0, NULL));
  UNSUPPORTED(output, "not contiguous", gradstep_comm_reduce_scatter(comms[0], &whole, &gaps, 0, NULL));
  UNSUPPORTED(tensor, "not contiguous", gradstep_comm_broadcast(comms[0], &gaps, 0, NULL));
  UNSUPPORTED(tensor, "not contiguous", gradstep_comm_send(comms[0], &gaps, 1, NULL));
  UNSUPPORTED(tensor, "not contiguous", gradstep_comm_recv(comms[0], &gaps, 1, NULL));
  whole.dtype.bits = 4;
  UNSUPPORTED(input, "whole bytes", gradstep_comm_all_gather(comms[0], &whole, &whole, NULL));
  UNSUPPORTED(input, "whole bytes", gradstep_comm_all_gather_v(comms[0], &whole, &whole, kCounts, NULL));
  UNSUPPORTED(tensor, "whole bytes", gradstep_comm_broadcast(comms[0], &whole, 0, NULL));
  UNSUPPORTED(tensor, "whole bytes", gradstep_comm_send(comms[0], &whole, 1, NULL));
  UNSUPPORTED(tensor, "whole bytes", gradstep_comm_recv(comms[0], &whole, 1, NULL));
#undef UNSUPPORTED
  gradstep_comm_destroy(comms[0]);
  gradstep_comm_destroy(comms[1]);
}

static void narrow_state_of_f64_parameters(void** state) {
  gradstep_sgd_options options = sgd_options();
  gradstep_parameter parameter = parameter_f32("p", 1, kShape);
  gradstep_optimizer* optimizer = NULL;
  int64_t bytes = 0;
  parameter.dtype = dtype_f64();
  for (int32_t dtype = GRADSTEP_STATE_DTYPE_BF16; dtype <= GRADSTEP_STATE_DTYPE_INT8; ++dtype) {
    options.state_dtype = dtype;
    assert_fails(gradstep_optimizer_create_sgd(*state, &options, &parameter, 1, &optimizer), GRADSTEP_ERR_UNSUPPORTED,
                 "state_dtype", "'p'");
    assert_fails(gradstep_sgd_state_bytes(&options, &parameter, 1, &bytes), GRADSTEP_ERR_UNSUPPORTED, "state_dtype");
  }
}

/* An SGD or, with shampoo, a Shampoo that keeps f32 copies of one bf16 parameter. */
static gradstep_optimizer* with_master_weights(gradstep_context* context, int shampoo) {
  const gradstep_dtype bf16 = {GRADSTEP_TYPE_BFLOAT, 16, 1};
  gradstep_sgd_options sgd = sgd_options();
  gradstep_shampoo_options matrices = shampoo_options();
  gradstep_parameter parameter = parameter_f32("p", 1, kShape);
  gradstep_optimizer* optimizer = NULL;
  parameter.dtype = bf16;
  sgd.master_weights = matrices.master_weights = 1;
  if (shampoo) {
    assert_ok(gradstep_optimizer_create_shampoo(context, &matrices, &parameter, 1, &optimizer));
  } else {
    assert_ok(gradstep_optimizer_create_sgd(context, &sgd, &parameter, 1, &optimizer));
  }
  return optimizer;
}

static void updates_of_parameters_with_master_weights(void** state) {
  const gradstep_dtype bf16 = {GRADSTEP_TYPE_BFLOAT, 16, 1};
  uint16_t values[3][4] = {{0}};
  gradstep_tensor p = tensor_of(values[0], bf16, 1, kShape), g = tensor_of(values[1], bf16, 1, kShape),
                  u = tensor_of(values[2], bf16, 1, kShape);
  for (int shampoo = 0; shampoo < 2; ++shampoo) {
    gradstep_optimizer* optimizer = with_master_weights(*state, shampoo);
    assert_fails(gradstep_optimizer_update(optimizer, &p, &g, &u, 1, NULL), GRADSTEP_ERR_UNSUPPORTED, "master weights");
    assert_fails(gradstep_optimizer_step_ex(optimizer, &p, &g, &u, 1, NULL, NULL), GRADSTEP_ERR_UNSUPPORTED,
                 "master weights");
    assert_ok(gradstep_optimizer_step(optimizer, &p, &g, 1, NULL));
    gradstep_optimizer_destroy(optimizer);
  }
}

static void options_of_shampoo_that_do_not_go_together(void** state) {
  gradstep_parameter parameter = parameter_f32("p", 1, kShape);
  gradstep_shampoo_options options;
  gradstep_optimizer* optimizer = NULL;
  int64_t bytes = 0;
#define UNSUPPORTED(field)                                                                     \
  options = shampoo_options();                                                                 \
  options.eigenvalue_corrected = options.field = 1;                                            \
  assert_fails(gradstep_optimizer_create_shampoo(*state, &options, &parameter, 1, &optimizer), \
               GRADSTEP_ERR_UNSUPPORTED, #field);                                              \
  assert_fails(gradstep_shampoo_state_bytes(&options, &parameter, 1, &bytes), GRADSTEP_ERR_UNSUPPORTED, #field)
  UNSUPPORTED(root_lag);
  UNSUPPORTED(refresh);
  UNSUPPORTED(quantize_momentum);
  UNSUPPORTED(quantize_statistics);
#undef UNSUPPORTED
  /* What goes with no f64 parameter, and what goes with none. */
  parameter.dtype = dtype_f64();
#define UNSUPPORTED(field, value)                                                              \
  options = shampoo_options();                                                                 \
  options.field = value;                                                                       \
  assert_fails(gradstep_optimizer_create_shampoo(*state, &options, &parameter, 1, &optimizer), \
               GRADSTEP_ERR_UNSUPPORTED, #field);                                              \
  assert_fails(gradstep_shampoo_state_bytes(&options, &parameter, 1, &bytes), GRADSTEP_ERR_UNSUPPORTED, #field)
  UNSUPPORTED(quantize_momentum, 1);
  UNSUPPORTED(quantize_statistics, 1);
  UNSUPPORTED(state_dtype, GRADSTEP_STATE_DTYPE_BF16);
  UNSUPPORTED(state_dtype, GRADSTEP_STATE_DTYPE_INT8);
#undef UNSUPPORTED
}

static void sums_of_modes_that_divide_each_gradient(void** state) {
  static const int32_t kModes[] = {GRADSTEP_ACCUMULATE_MEAN_EACH, GRADSTEP_ACCUMULATE_RUNNING_MEAN};
  const gradstep_parameter parameter = parameter_f32("p", 1, kShape);
  for (size_t i = 0; i < COUNT_OF(kModes); ++i) {
    gradstep_accumulator_options options;
    gradstep_accumulator* accumulator = NULL;
    gradstep_tensor view;
    assert_ok(gradstep_accumulator_options_init(&options, sizeof options));
    options.mode = kModes[i];
    assert_ok(gradstep_accumulator_create(*state, &options, &parameter, 1, &accumulator));
    assert_fails(gradstep_accumulator_sums(accumulator, &view, 1, NULL), GRADSTEP_ERR_UNSUPPORTED, "mean_each");
    gradstep_accumulator_destroy(accumulator);
  }
}

static void sparse_buckets_of_two_to_the_31_elements(void** state) {
  static const int64_t kHuge[] = {65536, 32768};
  static const int32_t kModes[] = {GRADSTEP_REDUCER_SPARSE_THRESHOLD, GRADSTEP_REDUCER_SPARSE_TOPK};
  const gradstep_parameter parameter = parameter_f32("huge", 2, kHuge);
  gradstep_comm* comm = alone(*state);
  for (size_t i = 0; i < COUNT_OF(kModes); ++i) {
    gradstep_reducer_options options;
    gradstep_reducer* reducer = NULL;
    assert_ok(gradstep_reducer_options_init(&options, sizeof options));
    options.mode = kModes[i];
    assert_fails(gradstep_reducer_create(*state, comm, &options, &parameter, 1, &reducer), GRADSTEP_ERR_UNSUPPORTED,
                 "2147483648 elements");
  }
  gradstep_comm_destroy(comm);
}

static void whole_gradients_of_a_reducer_that_brings_shares(void** state) {
  const gradstep_parameter parameter = parameter_f32("p", 1, kShape);
  const gradstep_sgd_options sgd = sgd_options();
  float values[4] = {1, 2, 3, 4};
  gradstep_tensor grad = tensor_f32(values, 1, kShape), out;
  gradstep_comm* comm = alone(*state);
  gradstep_optimizer *optimizer = NULL, *shampoo = NULL;
  gradstep_reducer* reducer = NULL;
  gradstep_shampoo_options options;
  assert_ok(gradstep_optimizer_create_sgd(*state, &sgd, &parameter, 1, &optimizer));
  assert_ok(gradstep_shampoo_options_init(&options, sizeof options));
  options.learning_rate = 0.1;
  assert_ok(gradstep_optimizer_create_shampoo(*state, &options, &parameter, 1, &shampoo));
  assert_ok(gradstep_reducer_create(*state, comm, NULL, &parameter, 1, &reducer));
  assert_fails(gradstep_optimizer_attach_reducer(shampoo, reducer, NULL), GRADSTEP_ERR_UNSUPPORTED, "whole model");
  assert_ok(gradstep_optimizer_attach_reducer(optimizer, reducer, NULL));
  assert_fails(gradstep_reducer_reduce(reducer, &grad, &grad, 1, 1, NULL), GRADSTEP_ERR_UNSUPPORTED, "results");
  assert_fails(gradstep_reducer_wait(reducer, &grad, 1, NULL), GRADSTEP_ERR_UNSUPPORTED, "results");
  assert_ok(gradstep_reducer_reduce(reducer, &grad, NULL, 1, 1, NULL));
  assert_fails(gradstep_reducer_gradients(reducer, &out, 1, NULL), GRADSTEP_ERR_UNSUPPORTED, "gradients");
  assert_fails(gradstep_reducer_norm(reducer, &out, NULL), GRADSTEP_ERR_UNSUPPORTED, "norm");
  gradstep_reducer_destroy(reducer);
  gradstep_optimizer_destroy(shampoo);
  gradstep_optimizer_destroy(optimizer);
  gradstep_comm_destroy(comm);
}

static void chains_whose_steps_come_first(void** state) {
  const gradstep_parameter parameter = parameter_f32("p", 1, kShape);
  const gradstep_sgd_options sgd = sgd_options();
  const gradstep_option averaging[] = {{"learning_rate", 1, NULL}, {"average_decay", 0.5, NULL}};
  gradstep_comm* comm = alone(*state);
  gradstep_optimizer *optimizer = NULL, *master = with_master_weights(*state, 0), *averaged = NULL;
  gradstep_reducer_options reduction;
  gradstep_updater_options options;
  gradstep_updater* updater = NULL;
  assert_ok(gradstep_optimizer_create_sgd(*state, &sgd, &parameter, 1, &optimizer));
  assert_ok(gradstep_optimizer_create(*state, "sgd", averaging, 2, &parameter, 1, &averaged));
  assert_ok(gradstep_updater_options_init(&options, sizeof options));
#define UNSUPPORTED(sync_, optimizer_, text)                                                     \
  do {                                                                                           \
    gradstep_reducer* reducer = NULL;                                                            \
    assert_ok(gradstep_reducer_create(*state, comm, &reduction, &parameter, 1, &reducer));       \
    options.sync = sync_;                                                                        \
    assert_fails(gradstep_updater_create(*state, optimizer_, NULL, reducer, &options, &updater), \
                 GRADSTEP_ERR_UNSUPPORTED, text);                                                \
    gradstep_reducer_destroy(reducer);                                                           \
  } while (0)
  assert_ok(gradstep_reducer_options_init(&reduction, sizeof reduction));
  UNSUPPORTED(GRADSTEP_SYNC_DELTAS, master, "master weights");
  UNSUPPORTED(GRADSTEP_SYNC_DELTAS, averaged, "an average");
  reduction.mode = GRADSTEP_REDUCER_HALF;
  UNSUPPORTED(GRADSTEP_SYNC_PARAMETERS, optimizer, "dense");
  UNSUPPORTED(GRADSTEP_SYNC_PARAMETERS_PARTIAL, optimizer, "dense");
  reduction.mode = GRADSTEP_REDUCER_DENSE;
  reduction.average = GRADSTEP_AVERAGE_SUM;
  UNSUPPORTED(GRADSTEP_SYNC_PARAMETERS, optimizer, "sums");
  UNSUPPORTED(GRADSTEP_SYNC_PARAMETERS_PARTIAL, optimizer, "sums");
  reduction.average = GRADSTEP_AVERAGE_MEAN;
  assert_ok(gradstep_optimizer_attach_comm(optimizer, comm, NULL));
  UNSUPPORTED(GRADSTEP_SYNC_DELTAS, optimizer, "sharded");
  UNSUPPORTED(GRADSTEP_SYNC_PARAMETERS, optimizer, "sharded");
  UNSUPPORTED(GRADSTEP_SYNC_PARAMETERS_PARTIAL, optimizer, "sharded");
#undef UNSUPPORTED
  gradstep_optimizer_destroy(averaged);
  gradstep_optimizer_destroy(master);
  gradstep_optimizer_destroy(optimizer);
  gradstep_comm_destroy(comm);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(devices_and_flags_of_a_schema_that_are_unknown),
      cmocka_unit_test(collectives_on_tensors_with_gaps_or_half_bytes),
      cmocka_unit_test(narrow_state_of_f64_parameters),
      cmocka_unit_test(updates_of_parameters_with_master_weights),
      cmocka_unit_test(options_of_shampoo_that_do_not_go_together),
      cmocka_unit_test(sums_of_modes_that_divide_each_gradient),
      cmocka_unit_test(sparse_buckets_of_two_to_the_31_elements),
      cmocka_unit_test(whole_gradients_of_a_reducer_that_brings_shares),
      cmocka_unit_test(chains_whose_steps_come_first),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
