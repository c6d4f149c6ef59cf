/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Four processes fit one straight line together, each from points of its own.
 *
 * The parent makes a rendezvous id and forks the ranks. Each rank hands its gradients to an updater, which averages
 * four micro-batches without touching the network, then all ranks' averages over Gloo, and steps the rank's own
 * parameters. At the end the parent checks that all ranks hold the same bits, and that the line is right.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

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

enum { kRanks = 4, kMicroBatches = 4, kBatch = 16, kUpdates = 200, kSkipped = 77 };

/* A point of y = 3 x - 1 with a little noise, from a counter: the same points in every run. */
static void point(uint32_t i, float* x, float* y) {
  const uint32_t hash = (i + 1) * 2654435761u;
  *x = (float)(hash >> 16) / 65536 * 2 - 1;
  *y = 3 * *x - 1 + ((float)(hash & 0xffff) / 65536 - 0.5F) * 0.1F;
}

/* Gradient of the mean squared error of line[0] x + line[1] over one micro-batch. */
static void squared_error_gradient(const float* line, uint32_t first_point, float* gradient) {
  gradient[0] = gradient[1] = 0;
  for (uint32_t i = 0; i < kBatch; ++i) {
    float x, y, residual;
    point(first_point + i, &x, &y);
    residual = line[0] * x + line[1] - y;
    gradient[0] += 2 * residual * x / (float)kBatch;
    gradient[1] += 2 * residual / (float)kBatch;
  }
}

/* What one rank does; `line` is its own copy of the parameters. */
static void train(int32_t rank, const void* id, size_t id_len, float* line) {
  float gradient[2];
  int64_t shape[] = {2};
  const gradstep_device cpu = {GRADSTEP_DEVICE_CPU, 0};
  const gradstep_dtype f32 = {GRADSTEP_TYPE_FLOAT, 32, 1};
  const gradstep_parameter parameter = {
      .struct_size = sizeof parameter, .name = "line", .shape = shape, .ndim = 1, .dtype = f32, .device = cpu};
  const gradstep_tensor line_tensor = {.data = line, .device = cpu, .ndim = 1, .dtype = f32, .shape = shape};
  const gradstep_tensor gradient_tensor = {.data = gradient, .device = cpu, .ndim = 1, .dtype = f32, .shape = shape};
  gradstep_context* context = NULL;
  gradstep_optimizer* sgd = NULL;
  gradstep_sgd_options options;
  CHECK(gradstep_context_create(NULL, &context));
  CHECK(gradstep_sgd_options_init(&options, sizeof options));
  options.learning_rate = 0.1;
  options.momentum = 0.5;
  CHECK(gradstep_optimizer_create_sgd(context, &options, &parameter, 1, &sgd));

  /* docs:begin connect */
  gradstep_comm_options network;
  gradstep_comm* comm = NULL;
  CHECK(gradstep_comm_options_init(&network, sizeof network));
  network.engine = "gloo";
  network.rank = rank;
  network.world_size = kRanks;
  network.id = id; /* made by gradstep_comm_unique_id in one process, carried to all */
  network.id_len = id_len;
  network.network_interface = "127.0.0.1"; /* for ranks of one machine alone */
  CHECK(gradstep_comm_create(context, &network, &comm));
  /* docs:end connect */

  /* docs:begin chain */
  gradstep_accumulator_options accumulation;
  gradstep_accumulator* accumulator = NULL;
  gradstep_reducer* reducer = NULL;
  gradstep_updater* updater = NULL;
  CHECK(gradstep_accumulator_options_init(&accumulation, sizeof accumulation));
  accumulation.steps = kMicroBatches;
  CHECK(gradstep_accumulator_create(context, &accumulation, &parameter, 1, &accumulator));
  CHECK(gradstep_reducer_create(context, comm, NULL, &parameter, 1, &reducer));
  CHECK(gradstep_updater_create(context, sgd, accumulator, reducer, NULL, &updater));
  /* docs:end chain */

  uint32_t next_point = (uint32_t)rank * 1000000u;
  for (int update = 0; update < kUpdates;) {
    /* docs:begin push */
    int32_t applied = 0;
    squared_error_gradient(line, next_point, gradient);
    next_point += kBatch;
    CHECK(gradstep_updater_push(updater, &line_tensor, &gradient_tensor, 1, 1.0, NULL, &applied));
    update += applied;
    /* docs:end push */
  }

  gradstep_comm_statistics stats = {.struct_size = sizeof stats};
  CHECK(gradstep_reducer_comm_stats(reducer, &stats));
  printf("rank %d: %d updates of %d micro-batches, %lld all-reduces, %lld bytes sent, y = %.4f x %+.4f\n", (int)rank,
         (int)kUpdates, (int)kMicroBatches, (long long)stats.all_reduces, (long long)stats.bytes_sent, (double)line[0],
         (double)line[1]);
  gradstep_updater_destroy(updater);
  gradstep_reducer_destroy(reducer);
  gradstep_accumulator_destroy(accumulator);
  gradstep_comm_destroy(comm);
  gradstep_optimizer_destroy(sgd);
  gradstep_context_destroy(context);
}

int main(void) {
  char id[256];
  size_t id_len = 0;
  int failures = 0;
  /* The parent sees what the ranks leave in these pages. */
  float(*lines)[2] = mmap(NULL, sizeof(float[kRanks][2]), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (lines == MAP_FAILED) return EXIT_FAILURE;
  if (!gradstep_backend_available("gloo")) {
    fprintf(stderr, "the Gloo engine was not built: nothing to show\n");
    return kSkipped;
  }
  CHECK(gradstep_comm_unique_id_ex("gloo", "127.0.0.1", id, sizeof id, &id_len));
  fflush(stdout);
  for (int32_t rank = 0; rank < kRanks; ++rank) {
    const pid_t child = fork();
    if (child < 0) return EXIT_FAILURE;
    if (child == 0) {
      train(rank, id, id_len, lines[rank]);
      exit(EXIT_SUCCESS);
    }
  }
  for (int rank = 0; rank < kRanks; ++rank) {
    int status = 0;
    if (wait(&status) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != EXIT_SUCCESS) ++failures;
  }
  for (int rank = 1; rank < kRanks; ++rank) {
    if (memcmp(lines[rank], lines[0], sizeof lines[0]) != 0) ++failures;
  }
  if (failures == 0) printf("all %d ranks hold the same bits\n", (int)kRanks);
  if (fabsf(lines[0][0] - 3) > 0.05F || fabsf(lines[0][1] + 1) > 0.05F) ++failures;
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
