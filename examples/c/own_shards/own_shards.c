/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * A host that has spread a matrix over ranks itself. Each rank steps its rows by LAMB, with the norm of
 * all gradients clipped, and rank 0 writes the state of the whole, which one rank with the whole matrix loads.
 */
#include <math.h>
#include <pthread.h>
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

enum { kRanks = 3, kRows = 7, kColumns = 5, kSteps = 20 };

static const char* const kPath = "own_shards.safetensors";

typedef struct rank {
  gradstep_context* context;
  gradstep_comm* comm;
  int64_t first; /* this rank's first row in the whole */
  int64_t rows;
  float matrix[kRows][kColumns]; /* `rows` of them */
} rank;

/* The gradient of element (row, column) of the whole. */
static float gradient(int step, int64_t row, int column) { return sinf((float)(step * 31 + row * 7 + column)); }

static void train(rank* self) {
  float slope[kRows][kColumns];
  int64_t shape[] = {self->rows, kColumns};
  const gradstep_device cpu = {GRADSTEP_DEVICE_CPU, 0};
  const gradstep_dtype f32 = {GRADSTEP_TYPE_FLOAT, 32, 1};
  const gradstep_tensor matrix = {.data = self->matrix, .device = cpu, .ndim = 2, .dtype = f32, .shape = shape};
  const gradstep_tensor slopes = {.data = slope, .device = cpu, .ndim = 2, .dtype = f32, .shape = shape};
  /* docs:begin parts */
  const int64_t whole_shape[] = {kRows, kColumns};
  const int64_t offset[] = {self->first, 0}; /* this rank's rows in the whole */
  const gradstep_parameter parameter = {.struct_size = sizeof parameter,
                                        .name = "matrix",
                                        .shape = shape,
                                        .ndim = 2,
                                        .dtype = f32,
                                        .device = cpu,
                                        .whole_shape = whole_shape,
                                        .offset = offset};
  const gradstep_option options[] = {{.name = "learning_rate", .value = 0.1}};
  gradstep_optimizer* lamb = NULL;
  CHECK(gradstep_optimizer_create(self->context, "lamb", options, 1, &parameter, 1, &lamb));
  CHECK(gradstep_optimizer_attach_shards(lamb, self->comm));
  /* docs:end parts */

  gradstep_step_options clipping;
  CHECK(gradstep_step_options_init(&clipping, sizeof clipping));
  clipping.max_norm = 1; /* the norm is that of the gradients of all ranks */
  for (int step = 0; step < kSteps; ++step) {
    for (int64_t row = 0; row < self->rows; ++row) {
      for (int column = 0; column < kColumns; ++column) {
        slope[row][column] = gradient(step, self->first + row, column);
      }
    }
    CHECK(gradstep_optimizer_step_ex(lamb, &matrix, &slopes, NULL, 1, &clipping, NULL));
  }
  CHECK(gradstep_optimizer_save_file(lamb, kPath)); /* rank 0 writes the state of the whole */
  gradstep_optimizer_destroy(lamb);
}

static void* run(void* user) {
  train(user);
  return NULL;
}

/* Spreads the rows over so many ranks, which are threads here, and trains them. */
static void train_on(int32_t count, rank* ranks) {
  gradstep_comm* comms[kRanks];
  pthread_t threads[kRanks];
  gradstep_context* context = NULL;
  CHECK(gradstep_context_create(NULL, &context));
  CHECK(gradstep_comm_create_local(context, count, comms));
  for (int32_t r = 0; r < count; ++r) {
    rank* self = &ranks[r];
    self->context = context;
    self->comm = comms[r];
    self->first = (int64_t)kRows * r / count;
    self->rows = (int64_t)kRows * (r + 1) / count - self->first;
    for (int i = 0; i < kRows * kColumns; ++i) self->matrix[i / kColumns][i % kColumns] = 1;
    if (pthread_create(&threads[r], NULL, run, self) != 0) exit(EXIT_FAILURE);
  }
  for (int32_t r = 0; r < count; ++r) {
    pthread_join(threads[r], NULL);
    gradstep_comm_destroy(comms[r]);
  }
  gradstep_context_destroy(context);
}

int main(void) {
  static rank whole;
  static rank ranks[kRanks];
  double error = 0;
  train_on(kRanks, ranks);
  train_on(1, &whole);
  for (int r = 0; r < kRanks; ++r) {
    for (int64_t row = 0; row < ranks[r].rows; ++row) {
      for (int column = 0; column < kColumns; ++column) {
        const float expected = whole.matrix[ranks[r].first + row][column];
        error = fmax(error, fabs((double)(ranks[r].matrix[row][column] - expected)));
      }
    }
  }
  remove(kPath);
  if (!(error <= 1e-6)) {
    fprintf(stderr, "the parts differ from the whole by %g\n", error);
    return EXIT_FAILURE;
  }
  printf("%d ranks with parts have the numbers of one with the whole\n", (int)kRanks);
  return EXIT_SUCCESS;
}
