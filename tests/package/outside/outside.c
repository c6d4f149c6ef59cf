/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Links, runs, and prints the version of the library that it was linked with. */
#include <stdio.h>

#include <gradstep/gradstep.h>

int main(void) {
  gradstep_context* context = NULL;
  if (gradstep_context_create(NULL, &context) != GRADSTEP_OK) {
    fprintf(stderr, "%s\n", gradstep_last_error());
    return 1;
  }
  gradstep_context_destroy(context);
  printf("%s\n", gradstep_version_string());
  return 0;
}
