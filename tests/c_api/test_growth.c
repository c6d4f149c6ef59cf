/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Structs of hosts that are younger than the library, forged: every growing struct with 16 bytes more than this header
 * has, through the functions that read or write it. (Structs of older hosts: tests/unit/core/options_test.cpp.)
 *
 * tests/abi/forged compares the FORGED lines with the headers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory_stream.h"
#include "support.h"

enum { kAdded = 16, kWords = 64 };

/* Room for the largest struct and what is added. */
typedef uint64_t forged_struct[kWords];

typedef struct world {
  gradstep_context* context;
  gradstep_comm* comm;
  gradstep_optimizer* optimizer;
  gradstep_accumulator* accumulator;
  gradstep_reducer* reducer;
  gradstep_updater* updater;
  model m;
  int releases;
  memory saved; /* by a stream, or what the store holds */
} world;

/* A struct, how its known fields are set, and a call that reads it and gives everything back that it has made. */
typedef struct forged_case {
  const char* name;
  size_t size;
  size_t version1; /* the size that it had first */
  void (*fill)(void* known, world* w);
  gradstep_status (*use)(void* forged, world* w);
  int has_release;
} forged_case;

static int setup(void** state) {
  static world w;
  gradstep_comm_options comm;
  gradstep_sgd_options sgd;
  memset(&w, 0, sizeof w);
  model_init(&w.m);
  w.context = new_context(1);
  assert_ok(gradstep_comm_options_init(&comm, sizeof comm));
  comm.engine = "self";
  assert_ok(gradstep_comm_create(w.context, &comm, &w.comm));
  assert_ok(gradstep_sgd_options_init(&sgd, sizeof sgd));
  sgd.learning_rate = 0.5;
  assert_ok(gradstep_optimizer_create_sgd(w.context, &sgd, w.m.parameters, kModelParameters, &w.optimizer));
  assert_ok(gradstep_accumulator_create(w.context, NULL, w.m.parameters, kModelParameters, &w.accumulator));
  assert_ok(gradstep_reducer_create(w.context, w.comm, NULL, w.m.parameters, kModelParameters, &w.reducer));
  assert_ok(gradstep_updater_create(w.context, w.optimizer, NULL, NULL, NULL, &w.updater));
  *state = &w;
  return 0;
}

static int teardown(void** state) {
  world* w = *state;
  destroy_handles(w->updater, w->reducer, w->accumulator, w->optimizer, w->comm);
  gradstep_context_destroy(w->context);
  return 0;
}

/* ---------------------------------------------------------------------------------------------- structs that are read
 */

static void fill_context(void* known, world* w) {
  gradstep_context_options* options = known;
  assert_ok(gradstep_context_options_init(options, sizeof *options));
  options->num_threads = 1;
  options->log_release = count_release;
  options->log_user = &w->releases;
}

static gradstep_status use_context(void* forged, world* w) {
  gradstep_context* context = NULL;
  const gradstep_status status = gradstep_context_create(forged, &context);
  (void)w;
  gradstep_context_destroy(context);
  return status;
}

static void* host_allocate(void* user, size_t bytes, size_t alignment, int32_t device_type, int32_t device_id,
                           void* stream) {
  void* data = NULL;
  (void)user, (void)device_type, (void)device_id, (void)stream;
  return posix_memalign(&data, alignment, bytes) == 0 ? data : NULL;
}

static void host_deallocate(void* user, void* data, size_t bytes, size_t alignment, int32_t device_type,
                            int32_t device_id, void* stream) {
  (void)user, (void)bytes, (void)alignment, (void)device_type, (void)device_id, (void)stream;
  free(data);
}

static void fill_allocator(void* known, world* w) {
  gradstep_allocator* allocator = known;
  allocator->struct_size = sizeof *allocator;
  allocator->user = &w->releases;
  allocator->allocate = host_allocate;
  allocator->deallocate = host_deallocate;
  allocator->release = count_release;
}

static gradstep_status use_allocator(void* forged, world* w) {
  gradstep_context_options options;
  assert_ok(gradstep_context_options_init(&options, sizeof options));
  options.allocator = forged;
  return use_context(&options, w);
}

static void fill_parameter(void* known, world* w) { memcpy(known, &w->m.parameters[0], sizeof w->m.parameters[0]); }

/* Options that are good as they begin. */
#define DEFAULTS(name)                                                                   \
  static void fill_##name(void* known, world* w) {                                       \
    (void)w;                                                                             \
    assert_ok(gradstep_##name##_options_init(known, sizeof(gradstep_##name##_options))); \
  }
DEFAULTS(accumulator)
DEFAULTS(step)
DEFAULTS(sharding)
DEFAULTS(reducer)
DEFAULTS(updater)
DEFAULTS(load)
#undef DEFAULTS

static gradstep_status use_parameter(void* forged, world* w) {
  gradstep_accumulator* accumulator = NULL;
  const gradstep_status status = gradstep_accumulator_create(w->context, NULL, forged, 1, &accumulator);
  gradstep_accumulator_destroy(accumulator);
  return status;
}

static gradstep_status use_accumulator(void* forged, world* w) {
  gradstep_accumulator* accumulator = NULL;
  const gradstep_status status = gradstep_accumulator_create(w->context, forged, w->m.parameters, 1, &accumulator);
  gradstep_accumulator_destroy(accumulator);
  return status;
}

static void fill_schedule(void* known, world* w) {
  gradstep_schedule* schedule = known;
  assert_ok(gradstep_schedule_init(schedule, sizeof *schedule));
  schedule->init_value = 1;
  schedule->user = &w->releases;
  schedule->release = count_release;
}

static gradstep_status use_schedule(void* forged, world* w) {
  gradstep_accumulator_options options;
  double value = 0;
  const gradstep_status status = gradstep_schedule_value(forged, 0, &value);
  assert_ok(gradstep_accumulator_options_init(&options, sizeof options));
  options.trigger = GRADSTEP_TRIGGER_SCHEDULE;
  options.schedule = forged;
  assert_int_equal(use_accumulator(&options, w), status);
  return status;
}

static const int64_t kOneRow[] = {1};
static const int64_t kRowShape[] = {1, 3};
static int64_t row_index = 1;
static float row_values[3] = {1, 2, 3};

static void fill_rows(void* known, world* w) {
  static gradstep_tensor indices, values;
  const gradstep_dtype int64 = {GRADSTEP_TYPE_INT, 64, 1};
  gradstep_rows* rows = known;
  (void)w;
  indices = tensor_of(&row_index, int64, 1, kOneRow);
  values = tensor_f32(row_values, 2, kRowShape);
  rows->struct_size = sizeof *rows;
  rows->indices = &indices;
  rows->values = &values;
}

static gradstep_status use_rows(void* forged, world* w) {
  return gradstep_accumulator_add_ex(w->accumulator, NULL, 0, forged, 1, 1.0, NULL, NULL);
}

static void fill_comm(void* known, world* w) {
  gradstep_comm_options* options = known;
  (void)w;
  assert_ok(gradstep_comm_options_init(options, sizeof *options));
  options->engine = "self";
}

static gradstep_status use_comm(void* forged, world* w) {
  gradstep_comm* comm = NULL;
  const gradstep_status status = gradstep_comm_create(w->context, forged, &comm);
  gradstep_comm_destroy(comm);
  assert_int_equal(gradstep_comm_create_local_ex(w->context, 1, forged, &comm), status);
  if (status == GRADSTEP_OK) gradstep_comm_destroy(comm);
  return status;
}

/* A store of one rank never has to get anything but what it has set last. */
static gradstep_status store_set(void* user, const char* key, const void* data, size_t len) {
  world* w = user;
  (void)key;
  w->saved.size = 0;
  return memory_write(&w->saved, data, len);
}

static gradstep_status store_get(void* user, const char* key, void* data, size_t* len, int64_t timeout_ms) {
  world* w = user;
  (void)key, (void)timeout_ms;
  if (*len < w->saved.size) return GRADSTEP_ERR_INVALID_ARGUMENT;
  memcpy(data, w->saved.bytes, w->saved.size);
  *len = w->saved.size;
  return GRADSTEP_OK;
}

static void release_world(void* user) { ++((world*)user)->releases; }

static void fill_store(void* known, world* w) {
  gradstep_store* store = known;
  store->struct_size = sizeof *store;
  store->user = w;
  store->set = store_set;
  store->get = store_get;
  store->release = release_world;
}

static gradstep_status use_store(void* forged, world* w) {
  gradstep_comm_options options;
  gradstep_comm* comm = NULL;
  gradstep_status status;
  assert_ok(gradstep_comm_options_init(&options, sizeof options));
  options.engine = "shm";
  options.store = forged;
  status = gradstep_comm_create(w->context, &options, &comm);
  gradstep_comm_destroy(comm);
  return status;
}

static gradstep_status gather_alone(void* user, const void* send, void* receive, int64_t bytes, void* stream,
                                    int64_t timeout_ms) {
  (void)user, (void)stream, (void)timeout_ms;
  memmove(receive, send, (size_t)bytes);
  return GRADSTEP_OK;
}

static void fill_vtable(void* known, world* w) {
  gradstep_comm_vtable* vtable = known;
  (void)w;
  vtable->struct_size = sizeof *vtable;
  vtable->world_size = 1;
  vtable->all_gather = gather_alone;
  vtable->release = count_release;
}

static gradstep_status use_vtable(void* forged, world* w) {
  gradstep_comm* comm = NULL;
  const gradstep_status status = gradstep_comm_create_host(w->context, forged, &w->releases, &comm);
  gradstep_comm_destroy(comm);
  return status;
}

/* The options of a rule, whose learning rate has to be set. */
#define RULE(rule)                                                                               \
  static void fill_##rule(void* known, world* w) {                                               \
    gradstep_##rule##_options* options = known;                                                  \
    (void)w;                                                                                     \
    assert_ok(gradstep_##rule##_options_init(options, sizeof *options));                         \
    options->learning_rate = 0.5;                                                                \
  }                                                                                              \
  static gradstep_status use_##rule(void* forged, world* w) {                                    \
    gradstep_optimizer* optimizer = NULL;                                                        \
    int64_t bytes = 0;                                                                           \
    const gradstep_status status =                                                               \
        gradstep_optimizer_create_##rule(w->context, forged, w->m.parameters, 1, &optimizer);    \
    gradstep_optimizer_destroy(optimizer);                                                       \
    assert_int_equal(gradstep_##rule##_state_bytes(forged, w->m.parameters, 1, &bytes), status); \
    return status;                                                                               \
  }
RULE(sgd)
RULE(rmsprop)
RULE(adagrad)
RULE(adam)
RULE(shampoo)
#undef RULE

static gradstep_status use_step(void* forged, world* w) {
  return gradstep_optimizer_step_ex(w->optimizer, w->m.params, w->m.gradients, NULL, kModelParameters, forged, NULL);
}

static gradstep_status use_sharding(void* forged, world* w) {
  const gradstep_status status = gradstep_optimizer_attach_comm(w->optimizer, w->comm, forged);
  assert_ok(gradstep_optimizer_attach_comm(w->optimizer, NULL, NULL));
  return status;
}

static gradstep_status use_reducer(void* forged, world* w) {
  gradstep_reducer* reducer = NULL;
  const gradstep_status status = gradstep_reducer_create(w->context, w->comm, forged, w->m.parameters, 1, &reducer);
  gradstep_reducer_destroy(reducer);
  return status;
}

static gradstep_status use_updater(void* forged, world* w) {
  gradstep_updater* updater = NULL;
  const gradstep_status status = gradstep_updater_create(w->context, w->optimizer, NULL, NULL, forged, &updater);
  gradstep_updater_destroy(updater);
  return status;
}

static void fill_stream(void* known, world* w) {
  gradstep_stream* stream = known;
  *stream = stream_over(&w->saved);
}

static gradstep_status use_stream(void* forged, world* w) {
  w->saved.size = w->saved.at = 0;
  return gradstep_optimizer_save(w->optimizer, forged);
}

static gradstep_status use_load(void* forged, world* w) {
  gradstep_stream stream;
  memset(&stream, 0, sizeof stream);
  fill_stream(&stream, w);
  assert_ok(use_stream(&stream, w));
  return gradstep_optimizer_load(w->optimizer, &stream, forged);
}

static void fill_cost(void* known, world* w) {
  gradstep_cost_options* options = known;
  (void)w;
  assert_ok(gradstep_cost_options_init(options, sizeof *options));
  options->elements = options->ranks = 2;
  options->bandwidth = options->latency = 1;
}

static gradstep_status use_cost(void* forged, world* w) {
  size_t count = 0;
  const gradstep_status status = gradstep_predict_costs(forged, NULL, 0, 0, &count);
  assert_int_equal(gradstep_cost_options_measure(forged, w->context), status);
  return status;
}

#define FORGED(type, name, has_release) {#type, sizeof(type), sizeof(type), fill_##name, use_##name, has_release}
#define GROWN_FORGED(type, name, has_release, second) \
  {#type, sizeof(type), offsetof(type, second), fill_##name, use_##name, has_release}
static const forged_case kRead[] = {
    FORGED(gradstep_context_options, context, 1),
    FORGED(gradstep_allocator, allocator, 1),
    GROWN_FORGED(gradstep_parameter, parameter, 0, whole_shape),
    FORGED(gradstep_accumulator_options, accumulator, 0),
    FORGED(gradstep_schedule, schedule, 1),
    FORGED(gradstep_rows, rows, 0),
    FORGED(gradstep_comm_options, comm, 0),
    FORGED(gradstep_store, store, 1),
    GROWN_FORGED(gradstep_comm_vtable, vtable, 1, poll),
    FORGED(gradstep_sgd_options, sgd, 0),
    FORGED(gradstep_rmsprop_options, rmsprop, 0),
    FORGED(gradstep_adagrad_options, adagrad, 0),
    FORGED(gradstep_adam_options, adam, 0),
    GROWN_FORGED(gradstep_shampoo_options, shampoo, 0, product_precision),
    GROWN_FORGED(gradstep_step_options, step, 0, grad_scale_tensor),
    FORGED(gradstep_sharding_options, sharding, 0),
    FORGED(gradstep_reducer_options, reducer, 0),
    GROWN_FORGED(gradstep_updater_options, updater, 0, outer),
    FORGED(gradstep_stream, stream, 1),
    FORGED(gradstep_load_options, load, 0),
    GROWN_FORGED(gradstep_cost_options, cost, 0, control_parameters),
};
#undef GROWN_FORGED
#undef FORGED

/* What the case's call returns for a struct that says it has `size` bytes, the one at `set` with a bit in it; 0 = none.
 */
static gradstep_status call_with(const forged_case* c, world* w, size_t size, size_t set) {
  forged_struct forged;
  const uint32_t struct_size = (uint32_t)size;
  memset(forged, 0, sizeof forged);
  assert_true(c->size + kAdded <= sizeof forged);
  c->fill(forged, w);
  memcpy(forged, &struct_size, sizeof struct_size);
  if (set > 0) ((unsigned char*)forged)[set] |= 1;
  w->releases = w->saved.releases = 0;
  return c->use(forged, w);
}

static void assert_says(const forged_case* c, size_t number) {
  char text[32];
  snprintf(text, sizeof text, " %zu", number);
  if (strstr(gradstep_last_error(), text) == NULL) fail_msg("%s: no%s in: %s", c->name, text, gradstep_last_error());
}

static void assert_case(const forged_case* c, const world* w, gradstep_status status, gradstep_status expected,
                        int released) {
  if (status != expected) {
    fail_msg("%s: %s, expected %s: %s", c->name, gradstep_status_name(status), gradstep_status_name(expected),
             gradstep_last_error());
  }
  const int releases = w->releases + w->saved.releases;
  if (c->has_release && releases != released) {
    fail_msg("%s: was released %d times, expected %d", c->name, releases, released);
  }
}

/* The call ends with `expected`, and everything has been given back `released` times. */
static void check_read(const forged_case* c, world* w, size_t size, size_t set, gradstep_status expected,
                       int released) {
  assert_case(c, w, call_with(c, w, size, set), expected, released);
  if (expected != GRADSTEP_OK) assert_says(c, size);
}

static void a_newer_struct_with_a_zero_tail_is_read(void** state) {
  for (const forged_case* c = kRead; c < kRead + COUNT_OF(kRead); ++c) {
    check_read(c, *state, c->size, 0, GRADSTEP_OK, 1);
    check_read(c, *state, c->size + kAdded, 0, GRADSTEP_OK, 1);
  }
}

static void a_newer_struct_with_a_non_zero_tail_is_unsupported(void** state) {
  for (const forged_case* c = kRead; c < kRead + COUNT_OF(kRead); ++c) {
    check_read(c, *state, c->size + kAdded, c->size + kAdded - 1, GRADSTEP_ERR_UNSUPPORTED, 1);
    assert_says(c, c->size);
    check_read(c, *state, c->size + kAdded, c->size, GRADSTEP_ERR_UNSUPPORTED, 1);
    assert_says(c, c->size);
  }
}

static void a_struct_of_version_1_is_read(void** state) {
  for (const forged_case* c = kRead; c < kRead + COUNT_OF(kRead); ++c) {
    check_read(c, *state, c->version1, 0, GRADSTEP_OK, 1);
  }
}

/* What has version 1 in it is released, as after every other error; what has not is left alone. */
static void sizes_that_no_version_has_are_refused(void** state) {
  for (const forged_case* c = kRead; c < kRead + COUNT_OF(kRead); ++c) {
    const size_t sizes[] = {0, c->version1 - 8, c->version1 - 4, c->version1 + 4, c->size + 4, 4092, 4104};
    for (size_t k = 0; k < COUNT_OF(sizes); ++k) {
      const int has_version1 = sizes[k] >= c->version1 && sizes[k] <= 4096;
      check_read(c, *state, sizes[k], 0, GRADSTEP_ERR_INVALID_ARGUMENT, has_version1);
    }
  }
}

/* ------------------------------------------------------------------------------------------- structs that are written
 */

static gradstep_status write_result(void* forged, world* w) {
  gradstep_step_options options;
  assert_ok(gradstep_step_options_init(&options, sizeof options));
  options.result = forged;
  return use_step(&options, w);
}

static gradstep_status write_memory(void* forged, world* w) { return gradstep_optimizer_memory(w->optimizer, forged); }
static gradstep_status write_comm_stats(void* forged, world* w) { return gradstep_comm_stats(w->comm, forged); }
static gradstep_status write_reducer_comm_stats(void* forged, world* w) {
  return gradstep_reducer_comm_stats(w->reducer, forged);
}
static gradstep_status write_updater_stats(void* forged, world* w) {
  return gradstep_updater_stats(w->updater, forged);
}

static gradstep_status write_rule(void* forged, world* w) {
  (void)w;
  return gradstep_rule_describe(0, forged);
}

#define FORGED(type, use) {#type, sizeof(type), sizeof(type), NULL, use, 0}
#define GROWN_FORGED(type, use, second) {#type, sizeof(type), offsetof(type, second), NULL, use, 0}
static const forged_case kWritten[] = {
    FORGED(gradstep_step_result, write_result),
    FORGED(gradstep_memory, write_memory),
    GROWN_FORGED(gradstep_comm_statistics, write_comm_stats, rounds),
    GROWN_FORGED(gradstep_comm_statistics, write_reducer_comm_stats, rounds),
    FORGED(gradstep_updater_statistics, write_updater_stats),
    FORGED(gradstep_rule, write_rule),
};
#undef GROWN_FORGED
#undef FORGED

static void a_newer_struct_is_written_and_its_tail_is_zero(void** state) {
  world* w = *state;
  for (size_t i = 0; i < COUNT_OF(kWritten); ++i) {
    const forged_case* c = &kWritten[i];
    forged_struct forged;
    const unsigned char* bytes = (const unsigned char*)forged;
    uint32_t size = (uint32_t)(c->size + kAdded);
    memset(forged, 0xee, sizeof forged);
    memcpy(forged, &size, sizeof size);
    assert_case(c, w, c->use(forged, w), GRADSTEP_OK, 0);
    memcpy(&size, forged, sizeof size);
    assert_int_equal(size, c->size + kAdded);
    assert_int_not_equal(bytes[c->size - 1], 0xee);
    for (size_t b = c->size; b < c->size + kAdded; ++b) assert_int_equal(bytes[b], 0);
    assert_int_equal(bytes[c->size + kAdded], 0xee);
    size = (uint32_t)c->version1 - 8;
    memcpy(forged, &size, sizeof size);
    assert_case(c, w, c->use(forged, w), GRADSTEP_ERR_INVALID_ARGUMENT, 0);
    assert_says(c, size);
  }
}

static gradstep_status write_metrics(void* records, size_t record_size, size_t* count, world* w) {
  return gradstep_optimizer_metrics(w->optimizer, records, record_size, 2, count);
}
static gradstep_status write_buckets(void* records, size_t record_size, size_t* count, world* w) {
  return gradstep_reducer_stats(w->reducer, records, record_size, 2, count);
}
static gradstep_status write_costs(void* records, size_t record_size, size_t* count, world* w) {
  gradstep_cost_options options;
  fill_cost(&options, w);
  return gradstep_predict_costs(&options, records, record_size, 2, count);
}

static gradstep_status write_rule_options(void* records, size_t record_size, size_t* count, world* w) {
  (void)w;
  return gradstep_rule_options("adam", records, record_size, 2, count);
}

static void records_have_the_stride_of_a_newer_host(void** state) {
  static const struct {
    size_t size;
    size_t version1;
    gradstep_status (*write)(void* records, size_t record_size, size_t* count, world* w);
  } kRecords[] = {
#define FORGED(type, write) {sizeof(type), sizeof(type), write}
#define GROWN_FORGED(type, write, second) {sizeof(type), offsetof(type, second), write}
      FORGED(gradstep_metric, write_metrics),
      GROWN_FORGED(gradstep_bucket_statistics, write_buckets, predicted_int8_nanoseconds),
      GROWN_FORGED(gradstep_cost, write_costs, calls),
      FORGED(gradstep_rule_option, write_rule_options),
#undef GROWN_FORGED
#undef FORGED
  };
  for (size_t i = 0; i < COUNT_OF(kRecords); ++i) {
    const size_t known = kRecords[i].size, stride = known + kAdded;
    forged_struct records[2];
    const unsigned char* bytes = (const unsigned char*)records;
    size_t count = 0;
    memset(records, 0xee, sizeof records);
    assert_ok(kRecords[i].write(records, stride, &count, *state));
    assert_true(count >= 1);
    for (size_t r = 0; r < count && r < 2; ++r) {
      uint32_t size = 0;
      memcpy(&size, bytes + r * stride, sizeof size);
      assert_int_equal(size, stride);
      for (size_t b = known; b < stride; ++b) assert_int_equal(bytes[r * stride + b], 0);
    }
    assert_int_equal(bytes[2 * stride], 0xee);
    assert_fails(kRecords[i].write(records, kRecords[i].version1 - 8, &count, *state), GRADSTEP_ERR_INVALID_ARGUMENT,
                 "record_size");
    assert_fails(kRecords[i].write(records, known + 4, &count, *state), GRADSTEP_ERR_INVALID_ARGUMENT, "record_size");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_struct_of_version_1_is_read),
      cmocka_unit_test(a_newer_struct_with_a_zero_tail_is_read),
      cmocka_unit_test(a_newer_struct_with_a_non_zero_tail_is_unsupported),
      cmocka_unit_test(sizes_that_no_version_has_are_refused),
      cmocka_unit_test(a_newer_struct_is_written_and_its_tail_is_zero),
      cmocka_unit_test(records_have_the_stride_of_a_newer_host),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
