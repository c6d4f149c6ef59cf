/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * A host lends its own collectives, and gradstep builds the rest.
 *
 * Three processes are joined by pipes in a star: rank 0 collects everyone's bytes and hands out the whole. That is an
 * all_gather, and all that a communicator needs. The ranks then combine gradients by Adasum: parallel ones are
 * averaged, orthogonal ones added.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <math.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
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

enum { kRanks = 3 };

/* What the host has: a pipe to rank 0 and one from it for every other rank. */
typedef struct star {
  int32_t rank;
  int to_root[kRanks][2];
  int from_root[kRanks][2];
} star;

/* Milliseconds of a clock that only goes forward. */
static int64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Moves all bytes until the deadline, or says why not. */
static gradstep_status receive_all(int fd, void* data, int64_t bytes, int64_t deadline) {
  char* at = data;
  while (bytes > 0) {
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    const int64_t left = deadline - now_ms();
    if (poll(&ready, 1, left > 0 ? (int)left : 0) == 0) {
      gradstep_set_last_error("a rank sent nothing");
      return GRADSTEP_ERR_TIMEOUT;
    }
    const ssize_t got = read(fd, at, (size_t)bytes);
    if (got <= 0) {
      gradstep_set_last_error("the pipe was closed");
      return GRADSTEP_ERR_PEER_LOST;
    }
    at += got;
    bytes -= got;
  }
  return GRADSTEP_OK;
}

static gradstep_status send_all(int fd, const void* data, int64_t bytes) {
  const char* at = data;
  while (bytes > 0) {
    const ssize_t put = write(fd, at, (size_t)bytes);
    if (put <= 0) return GRADSTEP_ERR_PEER_LOST;
    at += put;
    bytes -= put;
  }
  return GRADSTEP_OK;
}

/* docs:begin all_gather */
/* receive = rank 0's bytes, then rank 1's, then rank 2's; `bytes` is the same on all ranks. */
static gradstep_status all_gather(void* user, const void* send, void* receive, int64_t bytes, void* stream,
                                  int64_t timeout_ms) {
  star* host = user;
  char* blocks = receive;
  const int64_t deadline = now_ms() + timeout_ms;
  gradstep_status status = GRADSTEP_OK;
  (void)stream;
  if (host->rank != 0) {
    status = send_all(host->to_root[host->rank][1], send, bytes);
    if (status != GRADSTEP_OK) return status;
    return receive_all(host->from_root[host->rank][0], receive, kRanks * bytes, deadline);
  }
  memcpy(blocks, send, (size_t)bytes);
  for (int r = 1; r < kRanks && status == GRADSTEP_OK; ++r) {
    status = receive_all(host->to_root[r][0], blocks + r * bytes, bytes, deadline);
  }
  for (int r = 1; r < kRanks && status == GRADSTEP_OK; ++r) {
    status = send_all(host->from_root[r][1], receive, kRanks * bytes);
  }
  return status;
}
/* docs:end all_gather */

static void combine(star* host, float* gradient) {
  const int64_t shape[] = {2};
  const gradstep_device cpu = {GRADSTEP_DEVICE_CPU, 0};
  const gradstep_dtype f32 = {GRADSTEP_TYPE_FLOAT, 32, 1};
  const gradstep_parameter parameter = {
      .struct_size = sizeof parameter, .name = "weights", .shape = shape, .ndim = 1, .dtype = f32, .device = cpu};
  gradstep_tensor tensor = {.data = gradient, .device = cpu, .ndim = 1, .dtype = f32};
  gradstep_context* context = NULL;
  tensor.shape = (int64_t*)shape;
  CHECK(gradstep_context_create(NULL, &context));

  /* docs:begin lend */
  const gradstep_comm_vtable vtable = {
      .struct_size = sizeof vtable, .rank = host->rank, .world_size = kRanks, .all_gather = all_gather};
  gradstep_comm* comm = NULL;
  CHECK(gradstep_comm_create_host(context, &vtable, host, &comm));
  /* docs:end lend */

  gradstep_reducer_options options;
  gradstep_reducer* reducer = NULL;
  CHECK(gradstep_reducer_options_init(&options, sizeof options));
  options.mode = GRADSTEP_REDUCER_ADASUM_TREE;
  CHECK(gradstep_reducer_create(context, comm, &options, &parameter, 1, &reducer));
  CHECK(gradstep_reducer_reduce(reducer, &tensor, &tensor, 1, 1.0, NULL));

  printf("rank %d: (%.4f, %.4f)\n", (int)host->rank, (double)gradient[0], (double)gradient[1]);
  gradstep_reducer_destroy(reducer);
  gradstep_comm_destroy(comm);
  gradstep_context_destroy(context);
}

int main(void) {
  static const float kGradients[kRanks][2] = {{1, 0}, {1, 1}, {0, 2}};
  /* Ranks 0 and 2 first: (1, 0) and (0, 2) are orthogonal and add up to (1, 2). With (1, 1), which points nearly the
   * same way, that is nearly averaged: (1 - 3/10) (1, 2) + (1 - 3/4) (1, 1). */
  static const float kExpected[2] = {0.95F, 1.65F};
  star host;
  int failures = 0;
  float(*results)[2] = mmap(NULL, sizeof kGradients, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (results == MAP_FAILED) return EXIT_FAILURE;
  memset(&host, 0, sizeof host);
  for (int r = 0; r < kRanks; ++r) {
    if (pipe(host.to_root[r]) != 0 || pipe(host.from_root[r]) != 0) return EXIT_FAILURE;
  }
  for (int32_t r = 0; r < kRanks; ++r) {
    const pid_t child = fork();
    if (child < 0) return EXIT_FAILURE;
    if (child == 0) {
      host.rank = r;
      memcpy(results[r], kGradients[r], sizeof kGradients[r]);
      combine(&host, results[r]);
      exit(EXIT_SUCCESS);
    }
  }
  for (int r = 0; r < kRanks; ++r) {
    int status = 0;
    if (wait(&status) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != EXIT_SUCCESS) ++failures;
  }
  for (int r = 0; r < kRanks; ++r) {
    if (memcmp(results[r], results[0], sizeof results[0]) != 0) ++failures;
    if (fabsf(results[r][0] - kExpected[0]) > 1e-6F || fabsf(results[r][1] - kExpected[1]) > 1e-6F) ++failures;
  }
  if (failures == 0) printf("all %d ranks hold the same bits\n", (int)kRanks);
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
