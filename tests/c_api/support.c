/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const int64_t kWeightShape[] = {2, 3};
static const int64_t kBiasShape[] = {3};

void assert_status_ok(gradstep_status status, const char* call, const char* file, int line) {
  if (status == GRADSTEP_OK) return;
  print_error("%s\n  returned %s: %s\n", call, gradstep_status_name(status), gradstep_last_error());
  _fail(file, line);
}

void assert_status_fails(gradstep_status status, gradstep_status expected, const char* call, const char* file, int line,
                         ...) {
  if (status != expected) {
    print_error("%s\n  returned %s, expected %s: %s\n", call, gradstep_status_name(status),
                gradstep_status_name(expected), gradstep_last_error());
    _fail(file, line);
  }
  va_list texts;
  va_start(texts, line);
  for (const char* text = va_arg(texts, const char*); text != NULL; text = va_arg(texts, const char*)) {
    if (strstr(gradstep_last_error(), text) == NULL) {
      print_error("%s\n  the text \"%s\" does not contain \"%s\"\n", call, gradstep_last_error(), text);
      va_end(texts);
      _fail(file, line);
    }
  }
  va_end(texts);
}

void assert_near(const float* actual, const float* expected, size_t n, double tolerance) {
  for (size_t i = 0; i < n; ++i) {
    const double difference = fabs((double)actual[i] - (double)expected[i]);
    if (!(difference <= tolerance)) {
      print_error("element %zu is %.9g, expected %.9g within %g\n", i, (double)actual[i], (double)expected[i],
                  tolerance);
      fail();
    }
  }
}

gradstep_dtype dtype_f32(void) {
  const gradstep_dtype dtype = {GRADSTEP_TYPE_FLOAT, 32, 1};
  return dtype;
}

gradstep_dtype dtype_f64(void) {
  const gradstep_dtype dtype = {GRADSTEP_TYPE_FLOAT, 64, 1};
  return dtype;
}

gradstep_device cpu(void) {
  const gradstep_device device = {GRADSTEP_DEVICE_CPU, 0};
  return device;
}

gradstep_tensor tensor_of(void* data, gradstep_dtype dtype, int32_t ndim, const int64_t* shape) {
  gradstep_tensor tensor;
  memset(&tensor, 0, sizeof tensor);
  tensor.data = data;
  tensor.device = cpu();
  tensor.ndim = ndim;
  tensor.dtype = dtype;
  memcpy(&tensor.shape, &shape, sizeof shape); /* DLPack's field is not const; the library only reads it */
  return tensor;
}

gradstep_tensor tensor_f32(float* data, int32_t ndim, const int64_t* shape) {
  return tensor_of(data, dtype_f32(), ndim, shape);
}

gradstep_parameter parameter_f32(const char* name, int32_t ndim, const int64_t* shape) {
  gradstep_parameter parameter;
  memset(&parameter, 0, sizeof parameter);
  parameter.struct_size = sizeof parameter;
  parameter.name = name;
  parameter.shape = shape;
  parameter.ndim = ndim;
  parameter.dtype = dtype_f32();
  parameter.device = cpu();
  return parameter;
}

void model_init(model* m) {
  for (int i = 0; i < kModelElements; ++i) {
    m->values[i] = (float)(i + 1);
    m->grads[i] = (float)(i + 1) / 8;
  }
  m->parameters[0] = parameter_f32("dense.weight", 2, kWeightShape);
  m->parameters[1] = parameter_f32("dense.bias", 1, kBiasShape);
  m->params[0] = tensor_f32(m->values, 2, kWeightShape);
  m->params[1] = tensor_f32(m->values + 6, 1, kBiasShape);
  m->gradients[0] = tensor_f32(m->grads, 2, kWeightShape);
  m->gradients[1] = tensor_f32(m->grads + 6, 1, kBiasShape);
}

gradstep_context* new_context(int32_t num_threads) {
  gradstep_context_options options;
  gradstep_context* context = NULL;
  assert_ok(gradstep_context_options_init(&options, sizeof options));
  options.num_threads = num_threads;
  assert_ok(gradstep_context_create(&options, &context));
  assert_non_null(context);
  return context;
}

void destroy_handles(gradstep_updater* updater, gradstep_reducer* reducer, gradstep_accumulator* accumulator,
                     gradstep_optimizer* optimizer, gradstep_comm* comm) {
  gradstep_updater_destroy(updater);
  gradstep_reducer_destroy(reducer);
  gradstep_accumulator_destroy(accumulator);
  gradstep_optimizer_destroy(optimizer);
  gradstep_comm_destroy(comm);
}

int record(outcome* o, gradstep_status status) {
  if (status != GRADSTEP_OK && o->status == GRADSTEP_OK) {
    o->status = status;
    snprintf(o->text, sizeof o->text, "%s", gradstep_last_error());
  }
  return status == GRADSTEP_OK;
}

void assert_outcome_ok(const outcome* o) {
  if (o->status != GRADSTEP_OK) fail_msg("%s: %s", gradstep_status_name(o->status), o->text);
}

void assert_outcome_fails(const outcome* o, gradstep_status status, const char* text) {
  if (o->status != status || strstr(o->text, text) == NULL) {
    fail_msg("%s: \"%s\", expected %s and a text with \"%s\"", gradstep_status_name(o->status), o->text,
             gradstep_status_name(status), text);
  }
}

void new_local_comms(gradstep_context* context, int32_t world_size, int64_t timeout_ms, gradstep_comm** comms) {
  gradstep_comm_options options;
  assert_ok(gradstep_comm_options_init(&options, sizeof options));
  options.timeout_ms = timeout_ms;
  assert_ok(gradstep_comm_create_local_ex(context, world_size, &options, comms));
}

int64_t now_ms(void) {
  struct timespec now;
  assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &now), 0);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

typedef struct rank_thread {
  int32_t rank;
  void (*body)(int32_t rank, void* user);
  void* user;
} rank_thread;

static void* run_rank(void* argument) {
  const rank_thread* self = argument;
  self->body(self->rank, self->user);
  return NULL;
}

void run_ranks(int32_t world_size, void (*body)(int32_t rank, void* user), void* user) {
  pthread_t threads[16];
  rank_thread ranks[16];
  assert_in_range(world_size, 1, 16);
  for (int32_t rank = 0; rank < world_size; ++rank) {
    ranks[rank].rank = rank;
    ranks[rank].body = body;
    ranks[rank].user = user;
    assert_int_equal(pthread_create(&threads[rank], NULL, run_rank, &ranks[rank]), 0);
  }
  for (int32_t rank = 0; rank < world_size; ++rank) assert_int_equal(pthread_join(threads[rank], NULL), 0);
}

void count_release(void* user) { ++*(int*)user; }
