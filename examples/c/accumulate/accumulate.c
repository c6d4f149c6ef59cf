/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * A straight line is fitted to noisy points, four micro-batches to an update.
 *
 * The host computes gradients and owns the parameters. gradstep averages four micro-batches in its accumulator and
 * steps the parameters with Adam, in place.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <gradstep/gradstep.h>

#define CHECK(call)                                                                              \
  do {                                                                                           \
    const gradstep_status check_status = (call);                                                 \
    if (check_status != GRADSTEP_OK) {                                                           \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, gradstep_status_name(check_status), \
              gradstep_last_error());                                                            \
      exit(EXIT_FAILURE);                                                                        \
    }                                                                                            \
  } while (0)

enum { kMicroBatches = 4, kBatch = 16, kUpdates = 300 };

/* A point of y = 3 x - 1 with a little noise, from a counter: the same points in every run. */
static void point(uint32_t i, float* x, float* y) {
  const uint32_t hash = (i + 1) * 2654435761u;
  *x = (float)(hash >> 16) / 65536 * 2 - 1;
  *y = 3 * *x - 1 + ((float)(hash & 0xffff) / 65536 - 0.5F) * 0.1F;
}

/* Gradient of the mean squared error of line[0] x + line[1] over one micro-batch; returns the error. */
static float squared_error_gradient(const float* line, uint32_t first_point, float* gradient) {
  float error = 0;
  gradient[0] = gradient[1] = 0;
  for (uint32_t i = 0; i < kBatch; ++i) {
    float x, y, residual;
    point(first_point + i, &x, &y);
    residual = line[0] * x + line[1] - y;
    error += residual * residual / (float)kBatch;
    gradient[0] += 2 * residual * x / (float)kBatch;
    gradient[1] += 2 * residual / (float)kBatch;
  }
  return error;
}

int main(void) {
  /* docs:begin describe */
  float line[2] = {0, 0}; /* the host's parameter: slope and intercept */
  float gradient[2];
  int64_t shape[] = {2};
  const gradstep_device cpu = {GRADSTEP_DEVICE_CPU, 0};
  const gradstep_dtype f32 = {GRADSTEP_TYPE_FLOAT, 32, 1};
  const gradstep_parameter parameter = {
      .struct_size = sizeof parameter, .name = "line", .shape = shape, .ndim = 1, .dtype = f32, .device = cpu};
  const gradstep_tensor line_tensor = {.data = line, .device = cpu, .ndim = 1, .dtype = f32, .shape = shape};
  const gradstep_tensor gradient_tensor = {.data = gradient, .device = cpu, .ndim = 1, .dtype = f32, .shape = shape};
  /* docs:end describe */

  /* docs:begin create */
  gradstep_context* context = NULL;
  gradstep_accumulator* accumulator = NULL;
  gradstep_optimizer* adam = NULL;
  gradstep_accumulator_options accumulation;
  gradstep_adam_options options;
  CHECK(gradstep_context_create(NULL, &context));
  CHECK(gradstep_accumulator_options_init(&accumulation, sizeof accumulation));
  accumulation.steps = kMicroBatches;
  CHECK(gradstep_accumulator_create(context, &accumulation, &parameter, 1, &accumulator));
  CHECK(gradstep_adam_options_init(&options, sizeof options));
  options.learning_rate = 0.05;
  CHECK(gradstep_optimizer_create_adam(context, &options, &parameter, 1, &adam));
  /* docs:end create */

  float error = 0;
  uint32_t next_point = 0;
  for (int update = 0; update < kUpdates;) {
    /* docs:begin step */
    int32_t ready = 0;
    gradstep_tensor mean;
    error = squared_error_gradient(line, next_point, gradient);
    next_point += kBatch;
    CHECK(gradstep_accumulator_add(accumulator, &gradient_tensor, 1, 1.0, NULL, &ready));
    if (ready) {
      CHECK(gradstep_accumulator_gradients(accumulator, &mean, 1, NULL));
      CHECK(gradstep_optimizer_step(adam, &line_tensor, &mean, 1, NULL));
      ++update;
    }
    /* docs:end step */
    if (ready && update % 100 == 0) {
      printf("update %3d: %u points, y = %.3f x %+.3f, squared error %.5f\n", update, next_point, (double)line[0],
             (double)line[1], (double)error);
    }
  }

  /* docs:begin destroy */
  gradstep_optimizer_destroy(adam);
  gradstep_accumulator_destroy(accumulator);
  gradstep_context_destroy(context);
  /* docs:end destroy */
  if (fabsf(line[0] - 3) > 0.05F || fabsf(line[1] + 1) > 0.05F) {
    fprintf(stderr, "expected y = 3 x - 1\n");
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
