/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: unload LIBRARY. A program that opens the library as a binding does, lets its threads start, gives the library
 * up with dlclose, and goes on. Not linked with the library.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "gradstep/gradstep.h"

/* A function of the library; ISO C has no conversion from the object pointer that dlsym returns. */
#define FUNCTION(library, name)                              \
  do {                                                       \
    void* found = dlsym(library, "gradstep_" #name);         \
    if (found == NULL) return fail("dlsym", "no such name"); \
    memcpy(&name, &found, sizeof found);                     \
  } while (0)

static int fail(const char* what, const char* text) {
  fprintf(stderr, "%s: %s\n", what, text);
  return 1;
}

int main(int argc, char** argv) {
  void* library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  gradstep_status (*context_options_init)(gradstep_context_options*, size_t);
  gradstep_status (*context_create)(const gradstep_context_options*, gradstep_context**);
  gradstep_status (*cost_options_init)(gradstep_cost_options*, size_t);
  gradstep_status (*cost_options_measure)(gradstep_cost_options*, gradstep_context*);
  void (*context_destroy)(gradstep_context*);
  gradstep_context_options options;
  gradstep_cost_options costs;
  gradstep_context* context = NULL;
  if (library == NULL) return fail("dlopen", dlerror());
  FUNCTION(library, context_options_init);
  FUNCTION(library, context_create);
  FUNCTION(library, context_destroy);
  FUNCTION(library, cost_options_init);
  FUNCTION(library, cost_options_measure);
  if (context_options_init(&options, sizeof options) != GRADSTEP_OK) return fail("context_options_init", "failed");
  options.num_threads = 2;
  if (context_create(&options, &context) != GRADSTEP_OK) return fail("context_create", "failed");
  if (cost_options_init(&costs, sizeof costs) != GRADSTEP_OK) return fail("cost_options_init", "failed");
  if (cost_options_measure(&costs, context) != GRADSTEP_OK) return fail("cost_options_measure", "failed");
  if (dlclose(library) != 0) return fail("dlclose", dlerror());
  if (dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD) == NULL) return fail("dlclose", "the library was unloaded");
  /* The second thread sleeps in the library; now it runs again, and ends there. */
  if (cost_options_measure(&costs, context) != GRADSTEP_OK) return fail("cost_options_measure", "failed after dlclose");
  context_destroy(context);
  return 0;
}
