/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/* One step of Adam on four numbers of the host's. */
/* docs:begin head */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <gradstep/gradstep.h>

#define CHECK(call)                                              \
  do {                                                           \
    if ((call) != GRADSTEP_OK) {                                 \
      fprintf(stderr, "%s: %s\n", #call, gradstep_last_error()); \
      exit(EXIT_FAILURE);                                        \
    }                                                            \
  } while (0)
/* docs:end head */

int main(void) {
  /* docs:begin handles */
  gradstep_context* context = NULL;
  gradstep_adam_options options;
  gradstep_optimizer* adam = NULL;
  /* docs:end handles */
  /* docs:begin step */
  float weight[] = {1, 2, 3, 4}, gradient[] = {0.5F, -0.5F, 1, -1};
  int64_t shape[] = {4};
  gradstep_tensor params = {weight, {GRADSTEP_DEVICE_CPU, 0}, 1, {GRADSTEP_TYPE_FLOAT, 32, 1}, shape, NULL, 0};
  gradstep_tensor grads = {gradient, params.device, 1, params.dtype, shape, NULL, 0};
  gradstep_parameter one = {.struct_size = sizeof one,
                            .name = "weight",
                            .shape = shape,
                            .ndim = 1,
                            .dtype = params.dtype,
                            .device = params.device};
  CHECK(gradstep_context_create(NULL, &context));
  CHECK(gradstep_adam_options_init(&options, sizeof options));
  options.learning_rate = 0.25;
  CHECK(gradstep_optimizer_create_adam(context, &options, &one, 1, &adam));
  CHECK(gradstep_optimizer_step(adam, &params, &grads, 1, NULL)); /* weight is now 0.75, 2.25, 2.75, 4.25 */
  /* docs:end step */
  gradstep_optimizer_destroy(adam);
  gradstep_context_destroy(context);
  for (int i = 0; i < 4; ++i) {
    const float expected = (float)(i + 1) + (i % 2 == 0 ? -0.25F : 0.25F); /* Adam's first step: its rate, by sign */
    if (!(fabsf(weight[i] - expected) < 1e-5F)) return EXIT_FAILURE;
  }
  printf("%g %g %g %g\n", weight[0], weight[1], weight[2], weight[3]);
  return EXIT_SUCCESS;
}
