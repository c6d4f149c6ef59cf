/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * call_cost: nanoseconds of one optimizer step on tensors of 16 elements, beside an empty call across a library's
 * border: with one tensor and 64 in groups of their own, with constants and with schedules of every kind. All are timed
 * in turns, many rounds of many calls; the best and the median round are printed as JSON.
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

enum { kElements = 16, kRounds = 101, kCalls = 20000, kGroups = 64, kSubjects = 10 };

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
  const char* name;
  int is_sgd;   /* or Adam */
  int32_t kind; /* of the learning rate's schedule */
  int32_t groups;
  gradstep_optimizer* optimizer;
  float values[kGroups][kElements];
  gradstep_tensor params[kGroups];
  double rounds[kRounds];
} subject;

static subject subjects[kSubjects] = {
    {.name = "sgd_step", .is_sgd = 1, .kind = GRADSTEP_SCHEDULE_CONSTANT, .groups = 1},
    {.name = "adam_step", .kind = GRADSTEP_SCHEDULE_CONSTANT, .groups = 1},
    {.name = "adam_step_exponential_decay", .kind = GRADSTEP_SCHEDULE_EXPONENTIAL_DECAY, .groups = 1},
    {.name = "adam_step_inverse_time", .kind = GRADSTEP_SCHEDULE_INVERSE_TIME, .groups = 1},
    {.name = "adam_step_polynomial", .kind = GRADSTEP_SCHEDULE_POLYNOMIAL, .groups = 1},
    {.name = "adam_step_cosine", .kind = GRADSTEP_SCHEDULE_COSINE, .groups = 1},
    {.name = "adam_step_piecewise", .kind = GRADSTEP_SCHEDULE_PIECEWISE, .groups = 1},
    {.name = "adam_step_callback", .kind = GRADSTEP_SCHEDULE_CALLBACK, .groups = 1},
    {.name = "adam_step_64_groups", .kind = GRADSTEP_SCHEDULE_CONSTANT, .groups = kGroups},
    {.name = "adam_step_64_groups_cosine", .kind = GRADSTEP_SCHEDULE_COSINE, .groups = kGroups},
};

/* Calls of a round: the same work, about, for all. */
static int calls_of(const subject* s) { return kCalls / s->groups; }

static gradstep_status give_learning_rate(void* user, int64_t step, double* value) {
  (void)step;
  *value = *(const double*)user;
  return GRADSTEP_OK;
}

/* Every kind computes what it is made of, and comes to the learning rate up to a ten-thousandth. */
static void set_schedule(const subject* s) {
  static const int64_t boundaries[] = {1, 2};
  const double values[] = {kLearningRate, kLearningRate, kLearningRate};
  gradstep_schedule schedule;
  CHECK(gradstep_schedule_init(&schedule, sizeof schedule));
  schedule.kind = s->kind;
  schedule.init_value = kLearningRate;
  schedule.end_value = kLearningRate;
  schedule.decay_steps = (int64_t)kRounds * kCalls;
  schedule.decay_rate = 1e-4;
  if (s->kind == GRADSTEP_SCHEDULE_EXPONENTIAL_DECAY) schedule.decay_rate = 1 - schedule.decay_rate;
  schedule.power = 0.9;
  schedule.n_points = 3;
  schedule.boundaries = boundaries;
  schedule.values = values;
  schedule.function = give_learning_rate;
  schedule.user = (void*)&kLearningRate;
  CHECK(gradstep_optimizer_set_schedule(s->optimizer, -1, "learning_rate", &schedule));
}

static void create(gradstep_context* context, subject* s, int64_t* shape) {
  const gradstep_device cpu = {GRADSTEP_DEVICE_CPU, 0};
  const gradstep_dtype f32 = {GRADSTEP_TYPE_FLOAT, 32, 1};
  gradstep_parameter parameters[kGroups];
  for (int32_t g = 0; g < s->groups; ++g) {
    parameters[g] = (gradstep_parameter){
        .struct_size = sizeof parameters[g], .shape = shape, .ndim = 1, .dtype = f32, .device = cpu, .group = g};
    s->params[g] = (gradstep_tensor){.data = s->values[g], .device = cpu, .ndim = 1, .dtype = f32, .shape = shape};
  }
  const size_t count = (size_t)s->groups;
  if (s->is_sgd) {
    gradstep_sgd_options options;
    CHECK(gradstep_sgd_options_init(&options, sizeof options));
    options.learning_rate = kLearningRate;
    CHECK(gradstep_optimizer_create_sgd(context, &options, parameters, count, &s->optimizer));
  } else {
    gradstep_adam_options options;
    CHECK(gradstep_adam_options_init(&options, sizeof options));
    options.learning_rate = kLearningRate;
    CHECK(gradstep_optimizer_create_adam(context, &options, parameters, count, &s->optimizer));
  }
  if (s->kind != GRADSTEP_SCHEDULE_CONSTANT) set_schedule(s);
}

static double time_steps(const subject* s, const gradstep_tensor* grads) {
  const int calls = calls_of(s);
  const double begin = now_ns();
  for (int i = 0; i < calls; ++i) {
    CHECK(gradstep_optimizer_step(s->optimizer, s->params, grads, (size_t)s->groups, NULL));
  }
  return (now_ns() - begin) / calls;
}

static double time_empty_calls(const subject* s, const gradstep_tensor* grads) {
  const double begin = now_ns();
  for (int i = 0; i < kCalls; ++i) CHECK(bench_empty(s->optimizer, s->params, grads, 1, NULL));
  return (now_ns() - begin) / kCalls;
}

/* Every step took one learning rate off: with SGD exactly; with Adam (a constant gradient corrected for its bias, and
 * epsilon 1e-8) up to f32 rounding, of which 2 million steps were seen to keep well below a thousandth, and to what
 * schedules differ by. */
static void check_values(const subject* s) {
  const double expected = -(double)kRounds * calls_of(s) * kLearningRate;
  const double tolerance = s->is_sgd ? 0 : 1e-3 * -expected;
  for (int32_t g = 0; g < s->groups; ++g) {
    if (fabs((double)s->values[g][0] - expected) <= tolerance) continue;
    fprintf(stderr, "%s: the steps computed %g, expected %g\n", s->name, (double)s->values[g][0], expected);
    exit(EXIT_FAILURE);
  }
}

static void print_rounds(const char* before, const char* name, double* rounds) {
  qsort(rounds, kRounds, sizeof(double), compare);
  printf("%s\"%s\": {\"best_ns\": %.2f, \"median_ns\": %.2f}", before, name, rounds[0], rounds[kRounds / 2]);
}

int main(void) {
  static double empty[kRounds];
  float gradient[kElements];
  int64_t shape[] = {kElements};
  gradstep_tensor grads[kGroups];
  gradstep_context_options context_options;
  gradstep_context* context = NULL;
  CHECK(gradstep_context_options_init(&context_options, sizeof context_options));
  context_options.num_threads = 1;
  CHECK(gradstep_context_create(&context_options, &context));
  for (int i = 0; i < kSubjects; ++i) create(context, &subjects[i], shape);
  for (int i = 0; i < kElements; ++i) gradient[i] = 1;
  for (int g = 0; g < kGroups; ++g) {
    grads[g] = subjects[0].params[0];
    grads[g].data = gradient;
  }

  for (int round = 0; round < kRounds; ++round) {
    empty[round] = time_empty_calls(&subjects[0], grads);
    for (int i = 0; i < kSubjects; ++i) subjects[i].rounds[round] = time_steps(&subjects[i], grads);
  }

  for (int i = 0; i < kSubjects; ++i) check_values(&subjects[i]);
  print_rounds("{", "empty_call", empty);
  for (int i = 0; i < kSubjects; ++i) print_rounds(", ", subjects[i].name, subjects[i].rounds);
  printf("}\n");
  for (int i = 0; i < kSubjects; ++i) gradstep_optimizer_destroy(subjects[i].optimizer);
  gradstep_context_destroy(context);
  return EXIT_SUCCESS;
}
