/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * support.h: what the C API tests share: cmocka with its prerequisites, assertions on a status and its text, builders
 * of tensors and parameters, and a way to play the ranks of a local communicator with threads.
 *
 * cmocka's assertions jump out of the test and belong on the main thread: bodies run by run_ranks only record.
 */
#ifndef GRADSTEP_TESTS_C_API_SUPPORT_H
#define GRADSTEP_TESTS_C_API_SUPPORT_H

/* cmocka.h needs these four before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gradstep/gradstep.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* The call returns GRADSTEP_OK; else the test fails with the library's own words. */
#define assert_ok(call) assert_status_ok((call), #call, __FILE__, __LINE__)

/* The call returns `status`, and gradstep_last_error() contains each of the texts (at least one). */
#define assert_fails(call, status, ...) \
  assert_status_fails((call), (status), #call, __FILE__, __LINE__, __VA_ARGS__, (const char*)NULL)

void assert_status_ok(gradstep_status status, const char* call, const char* file, int line);
void assert_status_fails(gradstep_status status, gradstep_status expected, const char* call, const char* file, int line,
                         ...);

/* |actual - expected| <= tolerance, element by element. */
void assert_near(const float* actual, const float* expected, size_t n, double tolerance);

gradstep_dtype dtype_f32(void);
gradstep_dtype dtype_f64(void);
gradstep_device cpu(void);

/* A compact tensor on the CPU. shape is kept by address. */
gradstep_tensor tensor_of(void* data, gradstep_dtype dtype, int32_t ndim, const int64_t* shape);
gradstep_tensor tensor_f32(float* data, int32_t ndim, const int64_t* shape);
gradstep_parameter parameter_f32(const char* name, int32_t ndim, const int64_t* shape);

/* Two f32 parameters, the commonest schema of these tests: "dense.weight" of shape (2,3) and "dense.bias" of shape (3).
 */
enum { kModelParameters = 2, kModelElements = 9 };
typedef struct model {
  gradstep_parameter parameters[kModelParameters];
  float values[kModelElements];
  float grads[kModelElements];
  gradstep_tensor params[kModelParameters];    /* views of values */
  gradstep_tensor gradients[kModelParameters]; /* views of grads */
} model;

/* values[i] = i + 1, grads[i] = (i + 1) / 8. */
void model_init(model* m);

/* A context of `num_threads` threads; the test fails if there is none. */
gradstep_context* new_context(int32_t num_threads);
/* Destroys what a rank has, in the order in which handles depend on each other. NULLs are left out. */
void destroy_handles(gradstep_updater* updater, gradstep_reducer* reducer, gradstep_accumulator* accumulator,
                     gradstep_optimizer* optimizer, gradstep_comm* comm);

/* What one thread saw: the first failing status of its calls, and its text. */
typedef struct outcome {
  gradstep_status status;
  char text[512];
} outcome;

/* Keeps the first failure. Returns whether this call was GRADSTEP_OK. */
int record(outcome* o, gradstep_status status);
void assert_outcome_ok(const outcome* o);
/* As assert_fails, for an outcome and one text. */
void assert_outcome_fails(const outcome* o, gradstep_status status, const char* text);

/* world_size connected communicators on `context`, whose calls wait timeout_ms at most. */
void new_local_comms(gradstep_context* context, int32_t world_size, int64_t timeout_ms, gradstep_comm** comms);

/* Milliseconds of a monotonic clock. */
int64_t now_ms(void);

/* Runs body(rank, user) on one thread per rank and joins them. */
void run_ranks(int32_t world_size, void (*body)(int32_t rank, void* user), void* user);

/* A release callback that counts its calls in the int that user points at. */
void count_release(void* user);

#endif /* GRADSTEP_TESTS_C_API_SUPPORT_H */
