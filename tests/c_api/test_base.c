/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "support.h"

static void versions_are_those_of_the_header(void** state) {
  unsigned major = 0, minor = 0, patch = 0;
  (void)state;
  assert_int_equal(gradstep_abi_version(), GRADSTEP_ABI_VERSION);
  assert_int_equal(sscanf(gradstep_version_string(), "%u.%u.%u", &major, &minor, &patch), 3);
}

static void every_status_has_its_name(void** state) {
  static const struct {
    gradstep_status status;
    const char* name;
  } expected[] = {{GRADSTEP_OK, "GRADSTEP_OK"},
                  {GRADSTEP_ERR_INVALID_ARGUMENT, "GRADSTEP_ERR_INVALID_ARGUMENT"},
                  {GRADSTEP_ERR_INVALID_STATE, "GRADSTEP_ERR_INVALID_STATE"},
                  {GRADSTEP_ERR_UNSUPPORTED, "GRADSTEP_ERR_UNSUPPORTED"},
                  {GRADSTEP_ERR_OUT_OF_MEMORY, "GRADSTEP_ERR_OUT_OF_MEMORY"},
                  {GRADSTEP_ERR_BACKEND_UNAVAILABLE, "GRADSTEP_ERR_BACKEND_UNAVAILABLE"},
                  {GRADSTEP_ERR_DEVICE, "GRADSTEP_ERR_DEVICE"},
                  {GRADSTEP_ERR_NUMERIC, "GRADSTEP_ERR_NUMERIC"},
                  {GRADSTEP_ERR_TIMEOUT, "GRADSTEP_ERR_TIMEOUT"},
                  {GRADSTEP_ERR_PEER_LOST, "GRADSTEP_ERR_PEER_LOST"},
                  {GRADSTEP_ERR_ABORTED, "GRADSTEP_ERR_ABORTED"},
                  {GRADSTEP_ERR_MISMATCH, "GRADSTEP_ERR_MISMATCH"},
                  {GRADSTEP_ERR_IO, "GRADSTEP_ERR_IO"},
                  {GRADSTEP_ERR_CORRUPT, "GRADSTEP_ERR_CORRUPT"},
                  {GRADSTEP_ERR_CALLBACK, "GRADSTEP_ERR_CALLBACK"},
                  {GRADSTEP_ERR_INTERNAL, "GRADSTEP_ERR_INTERNAL"},
                  {1, "GRADSTEP_ERR_UNKNOWN"},
                  {-98, "GRADSTEP_ERR_UNKNOWN"}};
  (void)state;
  for (size_t i = 0; i < COUNT_OF(expected); ++i) {
    assert_string_equal(gradstep_status_name(expected[i].status), expected[i].name);
  }
}

static void build_info_is_probed_then_written(void** state) {
  char text[4096];
  size_t needed = 0;
  static const char* const keys[] = {"\"version\"",         "\"abi_version\"", "\"compiler\"", "\"instruction_sets\"",
                                     "\"instruction_set\"", "\"backends\"",    "\"engines\""};
  (void)state;
  assert_ok(gradstep_build_info(NULL, 0, &needed));
  assert_in_range(needed, 2, sizeof text);
  assert_ok(gradstep_build_info(text, needed, NULL));
  assert_int_equal(strlen(text) + 1, needed);
  assert_int_equal(text[0], '{');
  assert_int_equal(text[needed - 2], '}');
  for (size_t i = 0; i < COUNT_OF(keys); ++i) assert_non_null(strstr(text, keys[i]));
}

static void too_small_text_buffer_is_refused_and_left_alone(void** state) {
  char text[8] = "before";
  size_t needed = 0;
  (void)state;
  assert_fails(gradstep_build_info(text, sizeof text, &needed), GRADSTEP_ERR_INVALID_ARGUMENT, "cap", "8");
  assert_string_equal(text, "before");
  assert_fails(gradstep_build_info(NULL, 8, &needed), GRADSTEP_ERR_INVALID_ARGUMENT, "buf");
}

static void host_sets_and_clears_the_text(void** state) {
  (void)state;
  gradstep_set_last_error("the host's words");
  assert_string_equal(gradstep_last_error(), "the host's words");
  gradstep_set_last_error(NULL);
  assert_string_equal(gradstep_last_error(), "");
}

static void success_and_destroy_leave_the_text(void** state) {
  (void)state;
  gradstep_set_last_error("kept");
  gradstep_context_destroy(NULL);
  gradstep_accumulator_destroy(NULL);
  gradstep_comm_destroy(NULL);
  gradstep_reducer_destroy(NULL);
  gradstep_optimizer_destroy(NULL);
  gradstep_updater_destroy(NULL);
  gradstep_tensor_list_destroy(NULL);
  gradstep_parameter_list_destroy(NULL);
  assert_ok(gradstep_build_info(NULL, 0, NULL));
  assert_string_equal(gradstep_last_error(), "kept");
}

static void* text_of_a_fresh_thread(void* first_byte) {
  *(char*)first_byte = gradstep_last_error()[0];
  gradstep_set_last_error("of the other thread");
  return NULL;
}

static void text_belongs_to_its_thread(void** state) {
  pthread_t thread;
  char first_byte = 'x';
  (void)state;
  gradstep_set_last_error("of this thread");
  assert_int_equal(pthread_create(&thread, NULL, text_of_a_fresh_thread, &first_byte), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_int_equal(first_byte, '\0');
  assert_string_equal(gradstep_last_error(), "of this thread");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(versions_are_those_of_the_header),
      cmocka_unit_test(every_status_has_its_name),
      cmocka_unit_test(build_info_is_probed_then_written),
      cmocka_unit_test(too_small_text_buffer_is_refused_and_left_alone),
      cmocka_unit_test(host_sets_and_clears_the_text),
      cmocka_unit_test(success_and_destroy_leave_the_text),
      cmocka_unit_test(text_belongs_to_its_thread),
  };
  return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
