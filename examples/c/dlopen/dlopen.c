/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: dlopen [LIBRARY]. A program that is built without gradstep, opens it when it runs, and goes on
 * without it where it is not there or is another version's. Minimises (x - 3)^2 + (y + 1)^2 by Adam.
 */
#include <math.h>
#include <stdlib.h>

#include "gradstep_table.h"

#define CHECK(call)                                                                                          \
  do {                                                                                                       \
    const gradstep_status check_status = (call);                                                             \
    if (check_status != GRADSTEP_OK) {                                                                       \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, gs.status_name(check_status), gs.last_error()); \
      exit(EXIT_FAILURE);                                                                                    \
    }                                                                                                        \
  } while (0)

int main(int argc, char** argv) {
  gradstep_table gs;
  char error[512];
  if (!gradstep_table_open(&gs, argc > 1 ? argv[1] : "libgradstep.so.0", error, sizeof error)) {
    fprintf(stderr, "no gradstep here: %s\n", error);
    return 77;
  }
  float point[2] = {0, 0}, gradient[2];
  int64_t shape[] = {2};
  const gradstep_parameter parameter = {.struct_size = sizeof parameter,
                                        .shape = shape,
                                        .ndim = 1,
                                        .dtype = {GRADSTEP_TYPE_FLOAT, 32, 1},
                                        .device = {GRADSTEP_DEVICE_CPU, 0}};
  const gradstep_tensor params = {
      .data = point, .device = parameter.device, .ndim = 1, .dtype = parameter.dtype, .shape = shape};
  gradstep_tensor grads = params;
  grads.data = gradient;

  gradstep_context* context = NULL;
  gradstep_optimizer* adam = NULL;
  gradstep_adam_options options;
  CHECK(gs.context_create(NULL, &context));
  CHECK(gs.adam_options_init(&options, sizeof options));
  options.learning_rate = 0.05;
  CHECK(gs.optimizer_create_adam(context, &options, &parameter, 1, &adam));
  for (int step = 0; step < 500; ++step) {
    gradient[0] = 2 * (point[0] - 3);
    gradient[1] = 2 * (point[1] + 1);
    CHECK(gs.optimizer_step(adam, &params, &grads, 1, NULL));
  }
  gs.optimizer_destroy(adam);
  gs.context_destroy(context);
  printf("gradstep %s: (%.3f, %.3f)\n", gs.version_string(), (double)point[0], (double)point[1]);
  return fabsf(point[0] - 3) < 0.01F && fabsf(point[1] + 1) < 0.01F ? EXIT_SUCCESS : EXIT_FAILURE;
}
