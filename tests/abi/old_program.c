/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * A host that was compiled long ago, run on the library of today: it knows the declarations of frozen/ alone, its
 * structs have the sizes of their first version, and it checks that every handle does for it what it did then.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frozen/abi_0_1.h"

static int failures;

static void expect(int holds, const char* what, int line) {
  if (holds) return;
  fprintf(stderr, "line %d: %s; the library's last error: %s\n", line, what, gradstep_last_error());
  ++failures;
}
#define EXPECT(condition) expect(condition, #condition, __LINE__)
#define EXPECT_OK(call) EXPECT((call) == GRADSTEP_OK)

static int64_t shape[] = {2};
static const gradstep_parameter parameter = {
    .struct_size = sizeof(gradstep_parameter), .shape = shape, .ndim = 1, .dtype = {2, 32, 1}, .device = {1, 0}};

static gradstep_tensor tensor_of(float* data) {
  const gradstep_tensor tensor = {.data = data, .device = {1, 0}, .ndim = 1, .dtype = {2, 32, 1}, .shape = shape};
  return tensor;
}

/* The defaults fill the old struct, and not a byte behind it. */
#define EXPECT_INIT(kind, init)                                                       \
  do {                                                                                \
    struct {                                                                          \
      gradstep_##kind options;                                                        \
      unsigned char behind[64];                                                       \
    } place;                                                                          \
    memset(&place, 0xA5, sizeof place);                                               \
    EXPECT_OK(init(&place.options, sizeof place.options));                            \
    EXPECT(place.options.struct_size == sizeof place.options);                        \
    for (size_t k = 0; k < sizeof place.behind; ++k) EXPECT(place.behind[k] == 0xA5); \
  } while (0)

static void options_are_filled(void) {
  EXPECT_INIT(context_options, gradstep_context_options_init);
  EXPECT_INIT(sgd_options, gradstep_sgd_options_init);
  EXPECT_INIT(rmsprop_options, gradstep_rmsprop_options_init);
  EXPECT_INIT(adagrad_options, gradstep_adagrad_options_init);
  EXPECT_INIT(adam_options, gradstep_adam_options_init);
  EXPECT_INIT(shampoo_options, gradstep_shampoo_options_init);
  EXPECT_INIT(step_options, gradstep_step_options_init);
  EXPECT_INIT(schedule, gradstep_schedule_init);
  EXPECT_INIT(accumulator_options, gradstep_accumulator_options_init);
  EXPECT_INIT(comm_options, gradstep_comm_options_init);
  EXPECT_INIT(reducer_options, gradstep_reducer_options_init);
  EXPECT_INIT(updater_options, gradstep_updater_options_init);
  EXPECT_INIT(sharding_options, gradstep_sharding_options_init);
  EXPECT_INIT(load_options, gradstep_load_options_init);
  EXPECT_INIT(cost_options, gradstep_cost_options_init);
}

static int64_t blocks;

static void* allocate(void* user, size_t bytes, size_t alignment, int32_t device_type, int32_t device_id,
                      void* stream) {
  (void)user, (void)device_type, (void)device_id, (void)stream;
  void* data = NULL;
  if (posix_memalign(&data, alignment < sizeof(void*) ? sizeof(void*) : alignment, bytes) != 0) return NULL;
  ++blocks;
  return data;
}

static void deallocate(void* user, void* data, size_t bytes, size_t alignment, int32_t device_type, int32_t device_id,
                       void* stream) {
  (void)user, (void)bytes, (void)alignment, (void)device_type, (void)device_id, (void)stream;
  --blocks;
  free(data);
}

static gradstep_context* make_context(void) {
  const gradstep_allocator allocator = {
      .struct_size = sizeof allocator, .allocate = allocate, .deallocate = deallocate};
  gradstep_context_options options;
  gradstep_context* context = NULL;
  EXPECT_OK(gradstep_context_options_init(&options, sizeof options));
  options.num_threads = 1;
  options.allocator = &allocator;
  EXPECT_OK(gradstep_context_create(&options, &context));
  return context;
}

static int releases;

static gradstep_status eighth(void* user, int64_t step, double* value) {
  (void)user;
  *value = step == 0 ? 0.125 : 0.25;
  return GRADSTEP_OK;
}

static void count_release(void* user) {
  (void)user;
  ++releases;
}

static void an_optimizer_steps(gradstep_context* context) {
  float value[] = {1, -1}, gradient[] = {0.5F, 2};
  const gradstep_tensor params = tensor_of(value), grads = tensor_of(gradient);
  gradstep_step_result result = {.struct_size = sizeof result};
  gradstep_sgd_options options;
  gradstep_step_options step;
  gradstep_schedule schedule;
  gradstep_optimizer* optimizer = NULL;
  int64_t count = 0;
  EXPECT_OK(gradstep_sgd_options_init(&options, sizeof options));
  options.learning_rate = 0.5;
  EXPECT_OK(gradstep_optimizer_create_sgd(context, &options, &parameter, 1, &optimizer));
  EXPECT_OK(gradstep_optimizer_step(optimizer, &params, &grads, 1, NULL));
  EXPECT(value[0] == 0.75F && value[1] == -2);
  EXPECT_OK(gradstep_step_options_init(&step, sizeof step));
  step.grad_scale = 2;
  step.clip_value = 1;
  step.skip_nonfinite = 1;
  step.result = &result;
  EXPECT_OK(gradstep_optimizer_step_ex(optimizer, &params, &grads, NULL, 1, &step, NULL));
  EXPECT(value[0] == 0.25F && value[1] == -2.5F);
  EXPECT(result.applied == 1 && result.clip_coefficient == 1);
  EXPECT_OK(gradstep_schedule_init(&schedule, sizeof schedule));
  schedule.kind = GRADSTEP_SCHEDULE_CALLBACK;
  schedule.function = eighth;
  schedule.release = count_release;
  EXPECT_OK(gradstep_optimizer_set_schedule(optimizer, -1, "learning_rate", &schedule));
  EXPECT_OK(gradstep_optimizer_set_step_count(optimizer, 0));
  EXPECT_OK(gradstep_optimizer_step(optimizer, &params, &grads, 1, NULL));
  EXPECT(value[0] == 0.1875F && value[1] == -2.75F);
  EXPECT_OK(gradstep_optimizer_step_count(optimizer, &count));
  EXPECT(count == 1);
  gradstep_optimizer_destroy(optimizer);
  EXPECT(releases == 1);
}

/* Records are written at the strides of the old structs. */
static void records_have_the_old_stride(gradstep_context* context) {
  const gradstep_parameter parameters[] = {parameter, parameter};
  gradstep_metric metrics[3];
  gradstep_memory memory = {.struct_size = sizeof memory};
  gradstep_adam_options options;
  gradstep_optimizer* optimizer = NULL;
  size_t count = 0;
  memset(metrics, 0xA5, sizeof metrics);
  EXPECT_OK(gradstep_adam_options_init(&options, sizeof options));
  options.learning_rate = 0.5;
  EXPECT_OK(gradstep_optimizer_create_adam(context, &options, parameters, 2, &optimizer));
  EXPECT_OK(gradstep_optimizer_metrics(optimizer, metrics, sizeof *metrics, 2, &count));
  EXPECT(count == 2 && strcmp(metrics[0].name, "step_count") == 0 && strcmp(metrics[1].name, "skipped_steps") == 0);
  EXPECT(metrics[2].struct_size == 0xA5A5A5A5U);
  EXPECT_OK(gradstep_optimizer_memory(optimizer, &memory));
  EXPECT(memory.state_bytes == 2 * 2 * 2 * 4);
  gradstep_optimizer_destroy(optimizer);
}

typedef struct bytes {
  unsigned char data[4096];
  size_t size, taken;
} bytes;

static gradstep_status write_bytes(void* user, const void* data, size_t size) {
  bytes* own = user;
  if (own->size + size > sizeof own->data) return GRADSTEP_ERR_IO;
  memcpy(own->data + own->size, data, size);
  own->size += size;
  return GRADSTEP_OK;
}

static gradstep_status read_bytes(void* user, void* data, size_t size, size_t* got) {
  bytes* own = user;
  *got = size < own->size - own->taken ? size : own->size - own->taken;
  memcpy(data, own->data + own->taken, *got);
  own->taken += *got;
  return GRADSTEP_OK;
}

static void an_accumulator_is_saved_in_its_window(gradstep_context* context) {
  static bytes file;
  const gradstep_stream stream = {
      .struct_size = sizeof stream, .user = &file, .write = write_bytes, .read = read_bytes};
  float gradient[] = {1, 2};
  const gradstep_tensor grads = tensor_of(gradient);
  gradstep_accumulator_options options;
  gradstep_load_options load;
  gradstep_accumulator *saved = NULL, *loaded = NULL;
  gradstep_tensor sum;
  int32_t ready = 1;
  EXPECT_OK(gradstep_accumulator_options_init(&options, sizeof options));
  options.mode = GRADSTEP_ACCUMULATE_SUM;
  options.steps = 2;
  EXPECT_OK(gradstep_accumulator_create(context, &options, &parameter, 1, &saved));
  EXPECT_OK(gradstep_accumulator_create(context, &options, &parameter, 1, &loaded));
  EXPECT_OK(gradstep_accumulator_add(saved, &grads, 1, 1, NULL, &ready));
  EXPECT(ready == 0);
  EXPECT_OK(gradstep_accumulator_save(saved, &stream));
  EXPECT_OK(gradstep_load_options_init(&load, sizeof load));
  EXPECT_OK(gradstep_accumulator_load(loaded, &stream, &load));
  EXPECT_OK(gradstep_accumulator_add(loaded, &grads, 1, 1, NULL, &ready));
  EXPECT(ready == 1);
  EXPECT_OK(gradstep_accumulator_gradients(loaded, &sum, 1, NULL));
  EXPECT(((const float*)sum.data)[0] == 2 && ((const float*)sum.data)[1] == 4);
  gradstep_accumulator_destroy(saved);
  gradstep_accumulator_destroy(loaded);
}

static gradstep_status gather_alone(void* user, const void* send, void* receive, int64_t size, void* stream,
                                    int64_t timeout_ms) {
  (void)user, (void)stream, (void)timeout_ms;
  memcpy(receive, send, (size_t)size);
  return GRADSTEP_OK;
}

static void an_updater_drives_a_reducer(gradstep_context* context) {
  const gradstep_comm_vtable vtable = {
      .struct_size = sizeof vtable, .world_size = 1, .all_gather = gather_alone, .release = count_release};
  float value[] = {1, 1}, gradient[] = {3, 4};
  const gradstep_tensor params = tensor_of(value), grads = tensor_of(gradient);
  gradstep_comm_statistics comm_stats = {.struct_size = sizeof comm_stats};
  gradstep_updater_statistics stats = {.struct_size = sizeof stats};
  gradstep_bucket_statistics bucket = {.struct_size = sizeof bucket};
  gradstep_sgd_options rule;
  gradstep_reducer_options reduction;
  gradstep_updater_options options;
  gradstep_comm* comm = NULL;
  gradstep_reducer* reducer = NULL;
  gradstep_optimizer* optimizer = NULL;
  gradstep_updater* updater = NULL;
  int32_t applied = 0;
  size_t count = 0;
  EXPECT_OK(gradstep_comm_create_host(context, &vtable, NULL, &comm));
  EXPECT_OK(gradstep_comm_stats(comm, &comm_stats));
  EXPECT_OK(gradstep_reducer_options_init(&reduction, sizeof reduction));
  EXPECT_OK(gradstep_reducer_create(context, comm, &reduction, &parameter, 1, &reducer));
  EXPECT_OK(gradstep_sgd_options_init(&rule, sizeof rule));
  rule.learning_rate = 0.25;
  EXPECT_OK(gradstep_optimizer_create_sgd(context, &rule, &parameter, 1, &optimizer));
  EXPECT_OK(gradstep_updater_options_init(&options, sizeof options));
  EXPECT_OK(gradstep_updater_create(context, optimizer, NULL, reducer, &options, &updater));
  EXPECT_OK(gradstep_updater_push(updater, &params, &grads, 1, 1, NULL, &applied));
  EXPECT(applied == 1 && value[0] == 0.25F && value[1] == 0);
  EXPECT_OK(gradstep_updater_stats(updater, &stats));
  EXPECT(stats.pushes == 1 && stats.windows == 1 && stats.steps == 1);
  EXPECT_OK(gradstep_reducer_stats(reducer, &bucket, sizeof bucket, 1, &count));
  EXPECT(count == 1 && bucket.elements == 2 && bucket.parameters == 1);
  gradstep_updater_destroy(updater);
  gradstep_optimizer_destroy(optimizer);
  gradstep_reducer_destroy(reducer);
  releases = 0;
  gradstep_comm_destroy(comm);
  EXPECT(releases == 1);
}

static void costs_are_predicted(void) {
  gradstep_cost_options options;
  gradstep_cost costs[64];
  size_t count = 0;
  EXPECT_OK(gradstep_cost_options_init(&options, sizeof options));
  options.elements = 1000;
  options.ranks = 4;
  options.bandwidth = 1e9;
  options.latency = 1e-5;
  EXPECT_OK(gradstep_predict_costs(&options, costs, sizeof *costs, 64, &count));
  EXPECT(count > 0 && count <= 64);
  for (size_t k = 0; k < count && k < 64; ++k) EXPECT(costs[k].seconds > 0 && costs[k].bytes > 0);
}

int main(void) {
  if (gradstep_abi_version() != GRADSTEP_ABI_VERSION) {
    fprintf(stderr, "the library has version %x of the interface, this program was compiled with %x: see docs/abi.md\n",
            (unsigned)gradstep_abi_version(), (unsigned)GRADSTEP_ABI_VERSION);
    return 1;
  }
  gradstep_context* context = make_context();
  options_are_filled();
  an_optimizer_steps(context);
  records_have_the_old_stride(context);
  an_accumulator_is_saved_in_its_window(context);
  an_updater_drives_a_reducer(context);
  costs_are_predicted();
  gradstep_context_destroy(context);
  EXPECT(blocks == 0);
  return failures == 0 ? 0 : 1;
}
