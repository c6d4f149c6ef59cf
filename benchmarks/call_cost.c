/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * call_cost: nanoseconds of one optimizer step on one tensor of 16 elements, beside an empty call across a library's
 * border. Both are timed in turns, many rounds of many calls; the best and the median round are printed as JSON.
 */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <gradstep/gradstep.h>

#include "empty.h"

#define CHECK(call)                                                              \
  do {                                                                           \
    if ((call) != GRADSTEP_OK) {                                                 \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, gradstep_last_error()); \
      exit(EXIT_FAILURE);                                                        \
    }                                                                            \
  } while (0)

enum { kElements = 16, kRounds = 101, kCalls = 20000, kKinds = 3 };

/* A power of two, so that the sums of steps are exact. */
static const double kLearningRate = 0x1p-20;

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

typedef struct subject {
  gradstep_optimizer* optimizer;
  float values[kElements];
  gradstep_tensor params;
} subject;

static double time_steps(const subject* s, const gradstep_tensor* grads) {
  const double begin = now_ns();
  for (int i = 0; i < kCalls; ++i) CHECK(gradstep_optimizer_step(s->optimizer, &s->params, grads, 1, NULL));
  return (now_ns() - begin) / kCalls;
}

static double time_empty_calls(const subject* s, const gradstep_tensor* grads) {
  const double begin = now_ns();
  for (int i = 0; i < kCalls; ++i) CHECK(bench_empty(s->optimizer, &s->params, grads, 1, NULL));
  return (now_ns() - begin) / kCalls;
}

int main(void) {
  static const char* const names[kKinds] = {"empty_call", "sgd_step", "adam_step"};
  static double rounds[kKinds][kRounds];
  static subject sgd, adam;
  float gradient[kElements];
  int64_t shape[] = {kElements};
  const gradstep_device cpu = {GRADSTEP_DEVICE_CPU, 0};
  const gradstep_dtype f32 = {GRADSTEP_TYPE_FLOAT, 32, 1};
  const gradstep_parameter parameter = {
      .struct_size = sizeof parameter, .shape = shape, .ndim = 1, .dtype = f32, .device = cpu};
  const gradstep_tensor view = {.device = cpu, .ndim = 1, .dtype = f32, .shape = shape};
  gradstep_tensor grads = view;
  gradstep_context_options context_options;
  gradstep_context* context = NULL;
  gradstep_sgd_options sgd_options;
  gradstep_adam_options adam_options;
  CHECK(gradstep_context_options_init(&context_options, sizeof context_options));
  context_options.num_threads = 1;
  CHECK(gradstep_context_create(&context_options, &context));
  CHECK(gradstep_sgd_options_init(&sgd_options, sizeof sgd_options));
  sgd_options.learning_rate = kLearningRate;
  CHECK(gradstep_optimizer_create_sgd(context, &sgd_options, &parameter, 1, &sgd.optimizer));
  CHECK(gradstep_adam_options_init(&adam_options, sizeof adam_options));
  adam_options.learning_rate = kLearningRate;
  CHECK(gradstep_optimizer_create_adam(context, &adam_options, &parameter, 1, &adam.optimizer));
  sgd.params = adam.params = view;
  sgd.params.data = sgd.values;
  adam.params.data = adam.values;
  grads.data = gradient;
  for (int i = 0; i < kElements; ++i) gradient[i] = 1;

  for (int round = 0; round < kRounds; ++round) {
    rounds[0][round] = time_empty_calls(&sgd, &grads);
    rounds[1][round] = time_steps(&sgd, &grads);
    rounds[2][round] = time_steps(&adam, &grads);
  }

  /* Every step took one learning rate off: with SGD exactly, with Adam (a constant gradient corrected for its bias, and
   * epsilon 1e-8) up to f32 rounding, of which 2 million steps were seen to keep well below a thousandth. */
  const double expected = -(double)kRounds * kCalls * kLearningRate;
  if ((double)sgd.values[0] != expected || fabs((double)adam.values[0] - expected) > 1e-3 * -expected) {
    fprintf(stderr, "the steps computed %g and %g\n", (double)sgd.values[0], (double)adam.values[0]);
    return EXIT_FAILURE;
  }
  printf("{");
  for (int kind = 0; kind < kKinds; ++kind) {
    qsort(rounds[kind], kRounds, sizeof(double), compare);
    printf("%s\"%s\": {\"best_ns\": %.2f, \"median_ns\": %.2f}", kind == 0 ? "" : ", ", names[kind], rounds[kind][0],
           rounds[kind][kRounds / 2]);
  }
  printf("}\n");
  gradstep_optimizer_destroy(sgd.optimizer);
  gradstep_optimizer_destroy(adam.optimizer);
  gradstep_context_destroy(context);
  return EXIT_SUCCESS;
}
