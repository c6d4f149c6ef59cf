/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: languages_c --vectors DIR [--trace]. Makes the calls of all scripts in DIR through the C API, and prints a
 * hash for each (README.md one folder up).
 */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rank.h"

static int is_script(const struct dirent* entry) {
  const size_t length = strlen(entry->d_name), suffix = strlen(".script");
  return length > suffix && strcmp(entry->d_name + length - suffix, ".script") == 0;
}

static int by_bytes(const struct dirent** a, const struct dirent** b) { return strcmp((*a)->d_name, (*b)->d_name); }

static void* run_thread(void* argument) {
  run_rank(argument);
  return NULL;
}

static void run_script(const char* directory, const char* file_name, int trace) {
  static script s;
  static rank ranks[kMaxRanks];
  gradstep_comm* comms[kMaxRanks];
  pthread_t threads[kMaxRanks];
  gradstep_context* context = NULL;
  uint64_t hash = HASH_START;
  read_script(directory, file_name, &s);
  const int n_ranks = ranks_of(&s);
  if (gradstep_context_create(NULL, &context) != GRADSTEP_OK ||
      gradstep_comm_create_local(context, n_ranks, comms) != GRADSTEP_OK)
    die(NULL, "%s: %s", file_name, gradstep_last_error());
  for (int i = 0; i < n_ranks; ++i) {
    ranks[i] =
        (rank){.script = &s, .directory = directory, .trace = trace, .index = i, .context = context, .comm = comms[i]};
    if (pthread_create(&threads[i], NULL, run_thread, &ranks[i]) != 0) die(NULL, "%s: no thread", file_name);
  }
  for (int i = 0; i < n_ranks; ++i) {
    pthread_join(threads[i], NULL);
    hash = hash_bytes(hash, &ranks[i].hash, sizeof ranks[i].hash);
    gradstep_comm_destroy(comms[i]);
  }
  gradstep_context_destroy(context);
  printf("%s %016" PRIx64 "\n", s.name, hash);
  free_script(&s);
}

int main(int argc, char** argv) {
  const char* directory = NULL;
  int trace = 0;
  struct dirent** entries;
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--trace") == 0) {
      trace = 1;
    } else if (strcmp(argv[i], "--vectors") == 0 && i + 1 < argc) {
      directory = argv[++i];
    } else {
      die(NULL, "usage: %s --vectors DIR [--trace]", argv[0]);
    }
  }
  if (directory == NULL) die(NULL, "usage: %s --vectors DIR [--trace]", argv[0]);
  const int n = scandir(directory, &entries, is_script, by_bytes);
  if (n <= 0) die(NULL, "%s: there are no scripts", directory);
  for (int i = 0; i < n; ++i) {
    run_script(directory, entries[i]->d_name, trace);
    free(entries[i]);
  }
  free(entries);
  return EXIT_SUCCESS;
}
