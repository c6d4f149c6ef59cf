/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

/* An options struct of a newer header: this library's fields and eight bytes that it does not know. */
typedef struct newer_options {
  gradstep_context_options known;
  uint64_t unknown;
} newer_options;

static void defaults_create_a_context(void** state) {
  gradstep_context_options options;
  gradstep_context* context = NULL;
  (void)state;
  memset(&options, 0xff, sizeof options);
  assert_ok(gradstep_context_options_init(&options, sizeof options));
  assert_int_equal(options.struct_size, sizeof options);
  assert_int_equal(options.num_threads, 0);
  assert_int_equal(options.background_threads, 1);
  assert_int_equal(options.log_level, GRADSTEP_LOG_OFF);
  assert_null(options.allocator);
  assert_ok(gradstep_context_create(&options, &context));
  gradstep_context_destroy(context);
  context = NULL;
  assert_ok(gradstep_context_create(NULL, &context));
  gradstep_context_destroy(context);
}

static void options_too_small_are_refused(void** state) {
  gradstep_context_options options;
  gradstep_context* context = NULL;
  (void)state;
  assert_fails(gradstep_context_options_init(&options, sizeof options - 8), GRADSTEP_ERR_INVALID_ARGUMENT,
               "struct_size", "96", "96");
  assert_fails(gradstep_context_options_init(&options, 4104), GRADSTEP_ERR_INVALID_ARGUMENT, "struct_size", "4104");
  assert_fails(gradstep_context_options_init(NULL, sizeof options), GRADSTEP_ERR_INVALID_ARGUMENT, "NULL");
  assert_ok(gradstep_context_options_init(&options, sizeof options));
  options.struct_size = 8;
  assert_fails(gradstep_context_create(&options, &context), GRADSTEP_ERR_INVALID_ARGUMENT, "options", "struct_size");
  assert_null(context);
}

static void a_newer_struct_with_a_zero_tail_is_accepted(void** state) {
  newer_options options;
  gradstep_context* context = NULL;
  (void)state;
  memset(&options, 0xff, sizeof options);
  assert_ok(gradstep_context_options_init(&options.known, sizeof options));
  assert_int_equal(options.known.struct_size, sizeof options);
  assert_true(options.unknown == 0);
  assert_ok(gradstep_context_create(&options.known, &context));
  gradstep_context_destroy(context);
}

static void a_newer_struct_with_a_non_zero_tail_is_unsupported(void** state) {
  newer_options options;
  gradstep_context* context = NULL;
  (void)state;
  assert_ok(gradstep_context_options_init(&options.known, sizeof options));
  options.unknown = UINT64_C(1) << 56; /* byte 7 of the tail on a little-endian machine */
  assert_fails(gradstep_context_create(&options.known, &context), GRADSTEP_ERR_UNSUPPORTED, "options", "104",
               "not zero");
  assert_null(context);
}

static void bad_fields_are_named(void** state) {
  gradstep_context_options options;
  gradstep_allocator allocator;
  gradstep_context* context = NULL;
  (void)state;
  assert_fails(gradstep_context_create(NULL, NULL), GRADSTEP_ERR_INVALID_ARGUMENT, "out");
  assert_ok(gradstep_context_options_init(&options, sizeof options));
  options.num_threads = -1;
  assert_fails(gradstep_context_create(&options, &context), GRADSTEP_ERR_INVALID_ARGUMENT, "num_threads", "-1");
  options.num_threads = 1025;
  assert_fails(gradstep_context_create(&options, &context), GRADSTEP_ERR_INVALID_ARGUMENT, "num_threads", "1025");
  options.num_threads = 1;
  options.background_threads = -2;
  assert_fails(gradstep_context_create(&options, &context), GRADSTEP_ERR_INVALID_ARGUMENT, "background_threads", "-2");
  options.background_threads = 0;
  options.log_level = 5;
  assert_fails(gradstep_context_create(&options, &context), GRADSTEP_ERR_INVALID_ARGUMENT, "log_level", "5");
  options.log_level = GRADSTEP_LOG_OFF;
  memset(&allocator, 0, sizeof allocator);
  allocator.struct_size = sizeof allocator;
  options.allocator = &allocator;
  assert_fails(gradstep_context_create(&options, &context), GRADSTEP_ERR_INVALID_ARGUMENT, "allocator");
  assert_null(context);
}

typedef struct releases {
  int log;
  int parallel_for;
  int interrupt;
} releases;

static gradstep_status serial_for(void* user, int64_t n, void (*body)(void* body_user, int64_t i), void* body_user) {
  ++*(int*)user;
  for (int64_t i = n; i-- > 0;) body(body_user, i);
  return GRADSTEP_OK;
}

static int32_t never_interrupt(void* user) {
  (void)user;
  return 0;
}

static gradstep_context_options options_with_releases(releases* counts) {
  gradstep_context_options options;
  assert_ok(gradstep_context_options_init(&options, sizeof options));
  options.log_user = &counts->log;
  options.log_release = count_release;
  options.parallel_for = serial_for;
  options.parallel_for_user = &counts->parallel_for;
  options.parallel_for_release = count_release;
  options.interrupt = never_interrupt;
  options.interrupt_user = &counts->interrupt;
  options.interrupt_release = count_release;
  return options;
}

static void releases_run_once_when_the_last_handle_is_gone(void** state) {
  releases counts = {0, 0, 0};
  const gradstep_context_options options = options_with_releases(&counts);
  gradstep_context* context = NULL;
  gradstep_accumulator* accumulator = NULL;
  model m;
  (void)state;
  model_init(&m);
  assert_ok(gradstep_context_create(&options, &context));
  assert_ok(gradstep_accumulator_create(context, NULL, m.parameters, kModelParameters, &accumulator));
  gradstep_context_destroy(context);
  assert_int_equal(counts.log + counts.parallel_for + counts.interrupt, 0);
  assert_ok(gradstep_accumulator_reset(accumulator, NULL));
  gradstep_accumulator_destroy(accumulator);
  assert_int_equal(counts.log, 1);
  assert_int_equal(counts.parallel_for, 1);
  assert_int_equal(counts.interrupt, 1);
}

static void releases_run_once_when_create_fails(void** state) {
  releases counts = {0, 0, 0};
  gradstep_context_options options = options_with_releases(&counts);
  gradstep_context* context = NULL;
  (void)state;
  options.background_threads = -1;
  assert_fails(gradstep_context_create(&options, &context), GRADSTEP_ERR_INVALID_ARGUMENT, "background_threads");
  assert_int_equal(counts.log, 1);
  assert_int_equal(counts.parallel_for, 1);
  assert_int_equal(counts.interrupt, 1);
}

typedef struct counted_heap {
  int64_t live_bytes;
  int allocations;
  int released;
  int refuse;
} counted_heap;

static void* heap_allocate(void* user, size_t bytes, size_t alignment, int32_t device_type, int32_t device_id,
                           void* stream) {
  counted_heap* heap = user;
  void* data = NULL;
  assert_int_equal(device_type, GRADSTEP_DEVICE_CPU);
  assert_int_equal(device_id, 0);
  assert_null(stream);
  if (heap->refuse || posix_memalign(&data, alignment < sizeof(void*) ? sizeof(void*) : alignment, bytes) != 0) {
    return NULL;
  }
  ++heap->allocations;
  heap->live_bytes += (int64_t)bytes;
  return data;
}

static void heap_deallocate(void* user, void* data, size_t bytes, size_t alignment, int32_t device_type,
                            int32_t device_id, void* stream) {
  (void)alignment, (void)stream;
  assert_int_equal(device_type, GRADSTEP_DEVICE_CPU);
  assert_int_equal(device_id, 0);
  ((counted_heap*)user)->live_bytes -= (int64_t)bytes;
  free(data);
}

static void heap_release(void* user) { ++((counted_heap*)user)->released; }

static gradstep_context* context_on(counted_heap* heap) {
  gradstep_context_options options;
  gradstep_allocator allocator;
  gradstep_context* context = NULL;
  memset(&allocator, 0, sizeof allocator);
  allocator.struct_size = sizeof allocator;
  allocator.user = heap;
  allocator.allocate = heap_allocate;
  allocator.deallocate = heap_deallocate;
  allocator.release = heap_release;
  assert_ok(gradstep_context_options_init(&options, sizeof options));
  options.num_threads = 1;
  options.allocator = &allocator;
  assert_ok(gradstep_context_create(&options, &context));
  return context;
}

static void allocator_gets_back_what_it_gave_and_rests_after_the_first_step(void** state) {
  counted_heap heap = {0, 0, 0, 0};
  gradstep_context* context = context_on(&heap);
  gradstep_adam_options adam;
  gradstep_optimizer* optimizer = NULL;
  model m;
  int after_first_step = 0;
  (void)state;
  model_init(&m);
  assert_ok(gradstep_adam_options_init(&adam, sizeof adam));
  adam.learning_rate = 0.1;
  assert_ok(gradstep_optimizer_create_adam(context, &adam, m.parameters, kModelParameters, &optimizer));
  assert_true(heap.live_bytes >= 2 * (int64_t)sizeof m.values);
  assert_ok(gradstep_optimizer_step(optimizer, m.params, m.gradients, kModelParameters, NULL));
  after_first_step = heap.allocations;
  for (int i = 0; i < 3; ++i) {
    assert_ok(gradstep_optimizer_step(optimizer, m.params, m.gradients, kModelParameters, NULL));
  }
  assert_int_equal(heap.allocations, after_first_step);
  gradstep_context_destroy(context);
  assert_int_equal(heap.released, 0);
  gradstep_optimizer_destroy(optimizer);
  assert_true(heap.live_bytes == 0);
  assert_int_equal(heap.released, 1);
}

static void an_allocator_that_refuses_is_out_of_memory(void** state) {
  counted_heap heap = {0, 0, 0, 0};
  gradstep_context* context = context_on(&heap);
  gradstep_accumulator* accumulator = NULL;
  model m;
  (void)state;
  model_init(&m);
  heap.refuse = 1;
  assert_fails(gradstep_accumulator_create(context, NULL, m.parameters, kModelParameters, &accumulator),
               GRADSTEP_ERR_OUT_OF_MEMORY, "alloc");
  assert_null(accumulator);
  gradstep_context_destroy(context);
  assert_true(heap.live_bytes == 0);
  assert_int_equal(heap.released, 1);
}

static void a_wrong_handle_is_recognised(void** state) {
  gradstep_context* context = new_context(1);
  gradstep_accumulator* accumulator = NULL;
  gradstep_accumulator* another = NULL;
  model m;
  (void)state;
  model_init(&m);
  assert_fails(gradstep_accumulator_create(NULL, NULL, m.parameters, kModelParameters, &accumulator),
               GRADSTEP_ERR_INVALID_ARGUMENT, "context", "NULL");
  assert_ok(gradstep_accumulator_create(context, NULL, m.parameters, kModelParameters, &accumulator));
  assert_fails(
      gradstep_accumulator_create((gradstep_context*)accumulator, NULL, m.parameters, kModelParameters, &another),
      GRADSTEP_ERR_INVALID_ARGUMENT, "context", "not a gradstep_context");
  assert_fails(gradstep_accumulator_reset((gradstep_accumulator*)context, NULL), GRADSTEP_ERR_INVALID_ARGUMENT,
               "accumulator", "not a gradstep_accumulator");
  assert_null(another);
  gradstep_accumulator_destroy(accumulator);
  gradstep_context_destroy(context);
}

static int child_is_refused(gradstep_context* context, gradstep_accumulator* accumulator, const model* m) {
  gradstep_accumulator* another = NULL;
  int64_t count = 0;
  if (gradstep_accumulator_create(context, NULL, m->parameters, kModelParameters, &another) !=
      GRADSTEP_ERR_INVALID_STATE) {
    return 1;
  }
  if (gradstep_accumulator_count(accumulator, &count) != GRADSTEP_ERR_INVALID_STATE) return 2;
  if (strstr(gradstep_last_error(), "fork") == NULL) return 3;
  gradstep_accumulator_destroy(accumulator);
  gradstep_context_destroy(context);
  context = NULL; /* the child makes its own */
  if (gradstep_context_create(NULL, &context) != GRADSTEP_OK) return 4;
  gradstep_context_destroy(context);
  return 0;
}

static void handles_of_the_parent_are_refused_in_a_forked_child(void** state) {
  gradstep_context* context = new_context(2);
  gradstep_accumulator* accumulator = NULL;
  model m;
  int64_t count = 0;
  int status = 0;
  pid_t child = 0;
  (void)state;
  model_init(&m);
  assert_ok(gradstep_accumulator_create(context, NULL, m.parameters, kModelParameters, &accumulator));
  assert_ok(gradstep_accumulator_add(accumulator, m.gradients, kModelParameters, 1, NULL, NULL));
  child = fork();
  assert_true(child >= 0);
  if (child == 0) _exit(child_is_refused(context, accumulator, &m));
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
  assert_ok(gradstep_accumulator_count(accumulator, &count));
  assert_int_equal(count, 1);
  gradstep_accumulator_destroy(accumulator);
  gradstep_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(defaults_create_a_context),
      cmocka_unit_test(options_too_small_are_refused),
      cmocka_unit_test(a_newer_struct_with_a_zero_tail_is_accepted),
      cmocka_unit_test(a_newer_struct_with_a_non_zero_tail_is_unsupported),
      cmocka_unit_test(bad_fields_are_named),
      cmocka_unit_test(releases_run_once_when_the_last_handle_is_gone),
      cmocka_unit_test(releases_run_once_when_create_fails),
      cmocka_unit_test(allocator_gets_back_what_it_gave_and_rests_after_the_first_step),
      cmocka_unit_test(an_allocator_that_refuses_is_out_of_memory),
      cmocka_unit_test(a_wrong_handle_is_recognised),
      cmocka_unit_test(handles_of_the_parent_are_refused_in_a_forked_child),
  };
  return cmocka_run_group_tests_name("context", tests, NULL, NULL);
}
