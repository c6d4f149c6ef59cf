/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

static void what_is_built_in_is_available(void** state) {
  static const char* const names[] = {"cpu", "self", "local", "host"};
  (void)state;
  for (size_t i = 0; i < COUNT_OF(names); ++i) {
    char text[8];
    size_t len = 0;
    assert_int_equal(gradstep_backend_available(names[i]), 1);
    assert_ok(gradstep_backend_status(names[i], text, sizeof text, &len));
    assert_string_equal(text, "ok");
    assert_int_equal(len, 3);
  }
}

static void unknown_names_are_not_available(void** state) {
  char text[64] = "before";
  (void)state;
  assert_int_equal(gradstep_backend_available("abacus"), 0);
  assert_int_equal(gradstep_backend_available(NULL), 0);
  assert_fails(gradstep_backend_status("abacus", text, sizeof text, NULL), GRADSTEP_ERR_INVALID_ARGUMENT, "abacus");
  assert_fails(gradstep_backend_status(NULL, text, sizeof text, NULL), GRADSTEP_ERR_INVALID_ARGUMENT, "name", "NULL");
  assert_string_equal(text, "before");
}

static void a_missing_plugin_is_reported_in_the_loaders_words(void** state) {
  (void)state;
  assert_fails(gradstep_backend_load(NULL), GRADSTEP_ERR_INVALID_ARGUMENT, "path", "NULL");
  assert_fails(gradstep_backend_load("/nonexistent/libgradstep_abacus.so"), GRADSTEP_ERR_BACKEND_UNAVAILABLE,
               "/nonexistent/libgradstep_abacus.so", "No such file");
}

static void a_library_that_is_no_plugin_is_refused(void** state) {
  (void)state;
  assert_fails(gradstep_backend_load("libm.so.6"), GRADSTEP_ERR_BACKEND_UNAVAILABLE, "libm.so.6",
               "not a gradstep plugin");
}

static void an_engine_without_its_plugin_does_not_fall_back(void** state) {
  char directory[] = "/tmp/gradstep-no-plugins-XXXXXX";
  gradstep_context* context = new_context(1);
  gradstep_comm_options options;
  gradstep_comm* comm = NULL;
  char text[1024];
  (void)state;
  assert_non_null(mkdtemp(directory));
  assert_int_equal(setenv("GRADSTEP_PLUGIN_DIR", directory, 1), 0);
  assert_ok(gradstep_comm_options_init(&options, sizeof options));
  options.engine = "gloo";
  options.world_size = 1;
  options.store_path = directory;
  assert_fails(gradstep_comm_create(context, &options, &comm), GRADSTEP_ERR_BACKEND_UNAVAILABLE, "libgradstep_gloo.so",
               "No such file");
  assert_null(comm);
  assert_int_equal(gradstep_backend_available("gloo"), 0);
  assert_ok(gradstep_backend_status("gloo", text, sizeof text, NULL));
  assert_non_null(strstr(text, "No such file"));
  assert_int_equal(unsetenv("GRADSTEP_PLUGIN_DIR"), 0);
  assert_int_equal(rmdir(directory), 0);
  gradstep_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_built_in_is_available),
      cmocka_unit_test(unknown_names_are_not_available),
      cmocka_unit_test(a_missing_plugin_is_reported_in_the_loaders_words),
      cmocka_unit_test(a_library_that_is_no_plugin_is_refused),
      cmocka_unit_test(an_engine_without_its_plugin_does_not_fall_back),
  };
  return cmocka_run_group_tests_name("backend", tests, NULL, NULL);
}
