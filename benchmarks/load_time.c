/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: load_time LIBRARY...
 *
 * Milliseconds to open each library, in a fresh process each time (this one needs no C++ runtime), in turns. Prints the
 * best and the median as JSON, in the order of the arguments.
 */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kRounds = 51, kMaxLibraries = 8 };

static double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* Opens `path` in a child process; returns its milliseconds, or a negative number. */
static double open_in_child(const char* path) {
  int ends[2];
  double elapsed = -1;
  pid_t child;
  if (pipe(ends) != 0) return -1;
  child = fork();
  if (child == 0) {
    const double begin = now_ms();
    void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    elapsed = handle != NULL ? now_ms() - begin : -1;
    if (handle == NULL) fprintf(stderr, "%s\n", dlerror());
    _exit(write(ends[1], &elapsed, sizeof elapsed) == (ssize_t)sizeof elapsed ? 0 : 1);
  }
  if (child < 0 || read(ends[0], &elapsed, sizeof elapsed) != (ssize_t)sizeof elapsed) elapsed = -1;
  if (child > 0) waitpid(child, NULL, 0);
  close(ends[0]);
  close(ends[1]);
  return elapsed;
}

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  static double rounds[kMaxLibraries][kRounds];
  const int libraries = argc - 1;
  if (libraries < 1 || libraries > kMaxLibraries) return EXIT_FAILURE;
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < libraries; ++i) {
      rounds[i][round] = open_in_child(argv[i + 1]);
      if (rounds[i][round] < 0) return EXIT_FAILURE;
    }
  }
  printf("[");
  for (int i = 0; i < libraries; ++i) {
    qsort(rounds[i], kRounds, sizeof(double), compare);
    printf("%s{\"best_ms\": %.3f, \"median_ms\": %.3f}", i == 0 ? "" : ", ", rounds[i][0], rounds[i][kRounds / 2]);
  }
  printf("]\n");
  return EXIT_SUCCESS;
}
