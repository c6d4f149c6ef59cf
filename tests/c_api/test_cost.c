/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "support.h"

static gradstep_cost_options options_of(int64_t elements, int64_t ranks) {
  gradstep_cost_options options;
  assert_ok(gradstep_cost_options_init(&options, sizeof options));
  options.elements = elements;
  options.ranks = ranks;
  options.bandwidth = 125e6;
  options.latency = 1e-3;
  return options;
}

static void what_has_no_default_must_be_set(void** state) {
  gradstep_cost_options options;
  size_t count = 0;
  (void)state;
  assert_ok(gradstep_cost_options_init(&options, sizeof options));
  assert_fails(gradstep_predict_costs(&options, NULL, 0, 0, &count), GRADSTEP_ERR_INVALID_ARGUMENT, "options.elements",
               "is 0");
  options.elements = 1;
  assert_fails(gradstep_predict_costs(&options, NULL, 0, 0, &count), GRADSTEP_ERR_INVALID_ARGUMENT, "options.ranks",
               "1 to 100000");
  options.ranks = 2;
  assert_fails(gradstep_predict_costs(&options, NULL, 0, 0, &count), GRADSTEP_ERR_INVALID_ARGUMENT, "options.bandwidth",
               "nan");
  options.bandwidth = 1;
  assert_fails(gradstep_predict_costs(&options, NULL, 0, 0, &count), GRADSTEP_ERR_INVALID_ARGUMENT, "options.latency",
               "nan");
  options.latency = 0;
  assert_ok(gradstep_predict_costs(&options, NULL, 0, 0, &count));
  assert_fails(gradstep_predict_costs(NULL, NULL, 0, 0, &count), GRADSTEP_ERR_INVALID_ARGUMENT, "options");
  assert_fails(gradstep_predict_costs(&options, NULL, 0, 0, NULL), GRADSTEP_ERR_INVALID_ARGUMENT, "count");
}

static void records_are_counted_and_cut(void** state) {
  const gradstep_cost_options options = options_of(1 << 20, 8);
  gradstep_cost records[64];
  size_t count = 0;
  (void)state;
  assert_ok(gradstep_predict_costs(&options, NULL, 0, 0, &count));
  assert_in_range(count, 8, COUNT_OF(records));
  records[1].mode = 77;
  assert_ok(gradstep_predict_costs(&options, records, sizeof records[0], 1, &count));
  assert_int_equal(records[0].struct_size, sizeof records[0]);
  assert_int_equal(records[0].mode, GRADSTEP_REDUCER_DENSE);
  assert_int_equal(records[0].algorithm, GRADSTEP_COST_OWN);
  assert_int_equal(records[0].bytes, 2 * 4 * (1 << 20) * 7 / 8);
  assert_int_equal(records[0].calls, 1);
  assert_int_equal(records[0].rounds, 2);
  assert_int_equal(records[1].mode, 77);
}

static void a_hierarchy_is_there_where_hosts_have_several_ranks(void** state) {
  gradstep_cost_options options = options_of(1 << 20, 8);
  size_t flat = 0;
  size_t nested = 0;
  (void)state;
  assert_ok(gradstep_predict_costs(&options, NULL, 0, 0, &flat));
  options.ranks_per_host = 4;
  assert_ok(gradstep_predict_costs(&options, NULL, 0, 0, &nested));
  assert_int_equal(nested, flat + 4 + 10); /* HIERARCHICAL of four modes, HOSTS of those, of codes and of Adasum */
  options.no_exchange = 1;
  assert_ok(gradstep_predict_costs(&options, NULL, 0, 0, &nested));
  assert_int_equal(nested, flat + 4 - 1); /* nor a split selection */
  options.no_exchange = 0;
  options.ranks_per_host = 3;
  assert_fails(gradstep_predict_costs(&options, NULL, 0, 0, &flat), GRADSTEP_ERR_INVALID_ARGUMENT,
               "options.ranks_per_host", "is 3", "8");
}

static void a_processor_is_measured(void** state) {
  gradstep_cost_options options = options_of(1, 1);
  gradstep_context* context = NULL;
  (void)state;
  assert_ok(gradstep_context_create(NULL, &context));
  options.pack_seconds = options.convert_seconds = options.select_seconds = options.entry_seconds =
      options.add_seconds = options.merge_seconds = options.multiply_seconds = options.encode_seconds =
          options.decode_seconds = -1;
  assert_ok(gradstep_cost_options_measure(&options, context));
  assert_true(options.pack_seconds > 0 && options.convert_seconds > 0 && options.select_seconds > 0 &&
              options.entry_seconds > 0);
  assert_true(options.add_seconds > 0 && options.merge_seconds > 0 && options.multiply_seconds > 0);
  assert_true(options.encode_seconds > 0 && options.decode_seconds > 0);
  assert_true(options.bandwidth == 125e6 && options.ranks == 1);
  assert_fails(gradstep_cost_options_measure(NULL, context), GRADSTEP_ERR_INVALID_ARGUMENT, "o");
  assert_fails(gradstep_cost_options_measure(&options, NULL), GRADSTEP_ERR_INVALID_ARGUMENT, "context");
  gradstep_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_has_no_default_must_be_set),
      cmocka_unit_test(records_are_counted_and_cut),
      cmocka_unit_test(a_hierarchy_is_there_where_hosts_have_several_ranks),
      cmocka_unit_test(a_processor_is_measured),
  };
  return cmocka_run_group_tests_name("cost", tests, NULL, NULL);
}
