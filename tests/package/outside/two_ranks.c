/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: two_ranks ENGINE [RANK STORE]. One of two processes that sum over an engine whose plugin is a package of its
 * own; "mpi" knows its ranks.
 */
#include <stdio.h>
#include <stdlib.h>

#include <gradstep/gradstep.h>

#define CHECK(call)                                                              \
  do {                                                                           \
    if ((call) != GRADSTEP_OK) {                                                 \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, gradstep_last_error()); \
      exit(EXIT_FAILURE);                                                        \
    }                                                                            \
  } while (0)

int main(int argc, char** argv) {
  gradstep_context* context = NULL;
  gradstep_comm* comm = NULL;
  gradstep_comm_options options;
  int64_t shape[] = {1};
  int32_t rank = 0;
  float value = 0;
  gradstep_tensor tensor = {.data = &value,
                            .device = {GRADSTEP_DEVICE_CPU, 0},
                            .ndim = 1,
                            .dtype = {GRADSTEP_TYPE_FLOAT, 32, 1},
                            .shape = shape};
  if (argc != 2 && argc != 4) return EXIT_FAILURE;
  CHECK(gradstep_comm_options_init(&options, sizeof options));
  options.engine = argv[1];
  if (argc == 4) {
    options.rank = atoi(argv[2]);
    options.world_size = 2;
    options.store_path = argv[3];
    options.network_interface = "127.0.0.1";
  }
  CHECK(gradstep_context_create(NULL, &context));
  CHECK(gradstep_comm_create(context, &options, &comm));
  CHECK(gradstep_comm_rank(comm, &rank));
  value = (float)rank + 1;
  CHECK(gradstep_comm_all_reduce(comm, &tensor, GRADSTEP_REDUCE_SUM, NULL));
  gradstep_comm_destroy(comm);
  gradstep_context_destroy(context);
  printf("rank %d of %s: the sum is %g\n", (int)rank, argv[1], (double)value);
  return value == 3 ? EXIT_SUCCESS : EXIT_FAILURE;
}
