/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Four ranks, each a thread, sum gradients of which only the largest hundredth travels.
 *
 * Every rank keeps what it did not send, and adds it to its next gradient. At the end the main thread checks that all
 * ranks saw the same sums, and that nothing was lost: what was sent and what still waits add up to all gradients.
 */
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

enum { kRanks = 4, kElements = 1000000, kWindows = 20 };

typedef struct rank_data {
  gradstep_context* context;
  gradstep_comm* comm;
  uint32_t rank;
  float* gradient;
  float* received; /* the sum of all windows' results */
  double* given;   /* the sum of this rank's gradients */
  double* waiting; /* its residual after the last window */
} rank_data;

/* A gradient with many small elements and a few large ones, from a counter. */
static void next_gradient(uint32_t rank, uint32_t window, float* gradient) {
  for (uint32_t i = 0; i < kElements; ++i) {
    const uint32_t hash = (i * 2654435761u) ^ ((window * kRanks + rank + 1) * 2246822519u);
    const float uniform = (float)((hash ^ (hash >> 15)) & 0xffff) / 32768 - 1;
    gradient[i] = uniform * uniform * uniform;
  }
}

static void* train(void* argument) {
  rank_data* self = argument;
  const int64_t shape[] = {kElements};
  const gradstep_device cpu = {GRADSTEP_DEVICE_CPU, 0};
  const gradstep_dtype f32 = {GRADSTEP_TYPE_FLOAT, 32, 1};
  const gradstep_parameter parameter = {
      .struct_size = sizeof parameter, .name = "weights", .shape = shape, .ndim = 1, .dtype = f32, .device = cpu};
  gradstep_tensor gradient = {.data = self->gradient, .device = cpu, .ndim = 1, .dtype = f32};
  gradient.shape = (int64_t*)shape;

  /* docs:begin create */
  gradstep_reducer_options options;
  gradstep_reducer* reducer = NULL;
  CHECK(gradstep_reducer_options_init(&options, sizeof options));
  options.mode = GRADSTEP_REDUCER_SPARSE_TOPK;
  options.sparsity = 0.01; /* the largest hundredth travels */
  options.average = GRADSTEP_AVERAGE_SUM;
  CHECK(gradstep_reducer_create(self->context, self->comm, &options, &parameter, 1, &reducer));
  /* docs:end create */

  for (uint32_t window = 0; window < kWindows; ++window) {
    next_gradient(self->rank, window, self->gradient);
    for (int i = 0; i < kElements; ++i) self->given[i] += (double)self->gradient[i];
    CHECK(gradstep_reducer_reduce(reducer, &gradient, &gradient, 1, 1.0, NULL));
    for (int i = 0; i < kElements; ++i) self->received[i] += self->gradient[i];
  }

  gradstep_tensor residual; /* this rank's: what it has not sent yet */
  CHECK(gradstep_reducer_residual(reducer, 0, &residual));
  for (int i = 0; i < kElements; ++i) self->waiting[i] = (double)((const float*)residual.data)[i];

  gradstep_bucket_statistics bucket = {.struct_size = sizeof bucket};
  size_t buckets = 0;
  CHECK(gradstep_reducer_stats(reducer, &bucket, sizeof bucket, 1, &buckets));
  if (self->rank == 0) {
    printf("%d windows of %d elements: %lld bytes sent by a rank, %lld by dense sums\n", (int)kWindows, (int)kElements,
           (long long)bucket.bytes_sent, (long long)(bucket.bytes_dense * kWindows));
  }
  gradstep_reducer_destroy(reducer);
  return NULL;
}

int main(void) {
  static rank_data ranks[kRanks];
  gradstep_comm* comms[kRanks];
  pthread_t threads[kRanks];
  gradstep_context* context = NULL;
  double worst = 0;
  int failures = 0;
  CHECK(gradstep_context_create(NULL, &context));
  CHECK(gradstep_comm_create_local(context, kRanks, comms));
  for (uint32_t r = 0; r < kRanks; ++r) {
    ranks[r].context = context;
    ranks[r].comm = comms[r];
    ranks[r].rank = r;
    ranks[r].gradient = malloc(kElements * sizeof(float));
    ranks[r].received = calloc(kElements, sizeof(float));
    ranks[r].given = calloc(kElements, sizeof(double));
    ranks[r].waiting = calloc(kElements, sizeof(double));
    if (!ranks[r].gradient || !ranks[r].received || !ranks[r].given || !ranks[r].waiting) return EXIT_FAILURE;
  }
  for (int r = 0; r < kRanks; ++r) {
    if (pthread_create(&threads[r], NULL, train, &ranks[r]) != 0) return EXIT_FAILURE;
  }
  for (int r = 0; r < kRanks; ++r) pthread_join(threads[r], NULL);

  for (int r = 1; r < kRanks; ++r) {
    if (memcmp(ranks[r].received, ranks[0].received, kElements * sizeof(float)) != 0) ++failures;
  }
  for (int i = 0; i < kElements; ++i) {
    double given = 0;
    double waiting = 0;
    for (int r = 0; r < kRanks; ++r) {
      given += ranks[r].given[i];
      waiting += ranks[r].waiting[i];
    }
    worst = fmax(worst, fabs((double)ranks[0].received[i] + waiting - given));
  }
  printf("all ranks hold the same bits; sent and waiting differ from what was given by %.1e\n", worst);
  if (worst > 1e-4) ++failures;

  for (int r = 0; r < kRanks; ++r) {
    free(ranks[r].gradient);
    free(ranks[r].received);
    free(ranks[r].given);
    free(ranks[r].waiting);
    gradstep_comm_destroy(comms[r]);
  }
  gradstep_context_destroy(context);
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
