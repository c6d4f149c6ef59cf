/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "optimizer_fixture.h"

/* Makes f->optimizer of a rule by names. */
static gradstep_status create(fixture* f, const char* rule, const gradstep_option* options, size_t count) {
  gradstep_optimizer_destroy(f->optimizer);
  f->optimizer = NULL;
  return gradstep_optimizer_create(f->context, rule, options, count, f->m.parameters, kModelParameters, &f->optimizer);
}

static int32_t find_rule(const char* name, gradstep_rule* rule) {
  size_t count = 0;
  assert_ok(gradstep_rule_count(&count));
  for (size_t i = 0; i < count; ++i) {
    rule->struct_size = sizeof *rule;
    assert_ok(gradstep_rule_describe(i, rule));
    if (strcmp(rule->name, name) == 0) return 1;
  }
  return 0;
}

static gradstep_rule_option option_of(const char* rule, const char* name) {
  gradstep_rule_option records[32];
  size_t count = 0;
  assert_ok(gradstep_rule_options(rule, records, sizeof records[0], COUNT_OF(records), &count));
  assert_true(count <= COUNT_OF(records));
  for (size_t i = 0; i < count; ++i) {
    if (strcmp(records[i].name, name) == 0) return records[i];
  }
  fail_msg("%s has no option %s", rule, name);
  return records[0];
}

static void every_rule_describes_itself(void** state) {
  size_t count = 0, options = 0;
  gradstep_rule rule = {.struct_size = sizeof rule};
  (void)state;
  assert_ok(gradstep_rule_count(&count));
  assert_true(count >= 4);
  for (size_t i = 0; i < count; ++i) {
    assert_ok(gradstep_rule_describe(i, &rule));
    assert_true(strlen(rule.name) > 0 && strlen(rule.source) > 0 && strlen(rule.formula) > 0);
    assert_ok(gradstep_rule_options(rule.name, NULL, 0, 0, &options));
    assert_true(options > 5);
  }
  assert_true(find_rule("adam", &rule));
  assert_string_equal(rule.states, "exp_avg,exp_avg_sq,max_exp_avg_sq");
  assert_fails(gradstep_rule_describe(count, &rule), GRADSTEP_ERR_INVALID_ARGUMENT, "index: is ");
  assert_fails(gradstep_rule_describe(0, NULL), GRADSTEP_ERR_INVALID_ARGUMENT, "rule");
  assert_fails(gradstep_rule_count(NULL), GRADSTEP_ERR_INVALID_ARGUMENT, "count");
}

static void options_say_what_is_legal(void** state) {
  gradstep_rule_option option = option_of("adam", "learning_rate");
  size_t count = 0;
  (void)state;
  assert_int_equal(option.kind, GRADSTEP_OPTION_HYPER_PARAMETER);
  assert_true(isnan(option.initial) && option.minimum == 0 && isinf(option.limit));
  option = option_of("adam", "beta2");
  assert_true(option.initial == 0.999 && option.minimum == 0 && option.limit == 1 && option.choices == NULL);
  option = option_of("adagrad", "initial_accumulator");
  assert_int_equal(option.kind, GRADSTEP_OPTION_SETTING);
  option = option_of("sgd", "first_step");
  assert_int_equal(option.kind, GRADSTEP_OPTION_CHOICE);
  assert_string_equal(option.choices, "dampen,copy");
  option = option_of("rmsprop", "centered");
  assert_int_equal(option.kind, GRADSTEP_OPTION_FLAG);
  option = option_of("sgd", "seed");
  assert_int_equal(option.kind, GRADSTEP_OPTION_INTEGER);
  assert_fails(gradstep_rule_options("sm3", NULL, 0, 0, &count), GRADSTEP_ERR_INVALID_ARGUMENT,
               "rule: 'sm3' is not known, expected one of sgd, rmsprop, adagrad, adam, lion");
  assert_fails(gradstep_rule_options(NULL, NULL, 0, 0, &count), GRADSTEP_ERR_INVALID_ARGUMENT, "rule: is NULL");
  assert_fails(gradstep_rule_options("adam", NULL, 0, 0, NULL), GRADSTEP_ERR_INVALID_ARGUMENT, "count");
}

/* The bits of one step by the typed struct. */
static void expect_same_step(fixture* f, void (*typed)(fixture*), const char* rule, const gradstep_option* options,
                             size_t count) {
  float expected[kModelElements];
  model_init(&f->m);
  typed(f);
  step(f);
  step(f);
  memcpy(expected, f->m.values, sizeof expected);
  model_init(&f->m);
  assert_ok(create(f, rule, options, count));
  step(f);
  step(f);
  assert_memory_equal(f->m.values, expected, sizeof expected);
}

static void names_make_the_optimizer_of_the_struct(void** state) {
  fixture* f = *state;
  const gradstep_option sgd[] = {{"learning_rate", 1, NULL}, {"momentum", 0.5, NULL}, {"first_step", 0, "copy"}};
  const gradstep_option rmsprop[] = {
      {"centered", 1, NULL}, {"learning_rate", 0.125, NULL}, {"epsilon_placement", 1, NULL}};
  const gradstep_option adagrad[] = {{"learning_rate", 0.125, NULL}, {"initial_accumulator", 0.25, NULL}};
  const gradstep_option adam[] = {
      {"learning_rate", 0.125, NULL}, {"weight_decay", 0.5, NULL}, {"decoupled_weight_decay", 1, NULL},
      {"amsgrad", 1, NULL},           {"maximize", 1, NULL},       {"state_dtype", 0, "bf16"}};
  f->sgd.momentum = 0.5;
  f->sgd.first_step = GRADSTEP_SGD_FIRST_STEP_COPY;
  f->rmsprop.centered = 1;
  f->rmsprop.epsilon_placement = GRADSTEP_EPSILON_PLACEMENT_OUTSIDE;
  f->adagrad.initial_accumulator = 0.25;
  f->adam.weight_decay = 0.5;
  f->adam.decoupled_weight_decay = f->adam.amsgrad = f->adam.maximize = 1;
  f->adam.state_dtype = GRADSTEP_STATE_DTYPE_BF16;
  expect_same_step(f, create_sgd, "sgd", sgd, COUNT_OF(sgd));
  expect_same_step(f, create_rmsprop, "rmsprop", rmsprop, COUNT_OF(rmsprop));
  expect_same_step(f, create_adagrad, "adagrad", adagrad, COUNT_OF(adagrad));
  expect_same_step(f, create_adam, "adam", adam, COUNT_OF(adam));
}

static void adamw_is_adam_with_decoupled_decay(void** state) {
  fixture* f = *state;
  const gradstep_option adamw[] = {
      {"learning_rate", 0.125, NULL}, {"weight_decay", 0.5, NULL}, {"decoupled_weight_decay", 0, NULL}};
  gradstep_rule rule = {.struct_size = sizeof rule};
  assert_true(option_of("adamw", "decoupled_weight_decay").initial == 1);
  assert_true(option_of("adam", "decoupled_weight_decay").initial == 0);
  assert_false(find_rule("adamw", &rule));
  f->adam.weight_decay = 0.5;
  expect_same_step(f, create_adam, "adamw", adamw, 3);
  f->adam.decoupled_weight_decay = 1;
  expect_same_step(f, create_adam, "adamw", adamw, 2);
}

static void create_lion(fixture* f) {
  gradstep_context* context = f->context;
  const gradstep_parameter* parameters = f->m.parameters;
  const size_t n = kModelParameters;
  gradstep_optimizer* optimizer = NULL;
  /* docs:begin typed */
  gradstep_lion_options options = gradstep_lion_options_default();
  options.learning_rate = 0.125;
  options.beta1 = 0.5;
  options.weight_decay = 0.25;
  options.state_dtype = GRADSTEP_STATE_DTYPE_BF16;
  options.decay_mode = GRADSTEP_DECAY_MODE_INDEPENDENT;
  gradstep_status status = gradstep_optimizer_create_lion(context, &options, parameters, n, &optimizer);
  /* docs:end typed */
  assert_ok(status);
  gradstep_optimizer_destroy(f->optimizer);
  f->optimizer = optimizer;
}

static void create_lamb(fixture* f) {
  gradstep_lamb_options options = gradstep_lamb_options_default();
  options.learning_rate = 0.125;
  options.epsilon_root = 1e-3;
  options.maximize = 1;
  options.step_counting = GRADSTEP_STEP_COUNTING_PARAMETER;
  gradstep_optimizer_destroy(f->optimizer);
  f->optimizer = NULL;
  assert_ok(gradstep_optimizer_create_lamb(f->context, &options, f->m.parameters, kModelParameters, &f->optimizer));
}

static void structs_of_headers_alone_make_the_optimizer_of_the_name(void** state) {
  fixture* f = *state;
  const gradstep_option lion[] = {{"learning_rate", 0.125, NULL},
                                  {"beta1", 0.5, NULL},
                                  {"weight_decay", 0.25, NULL},
                                  {"state_dtype", 0, "bf16"},
                                  {"decay_mode", 0, "independent"}};
  const gradstep_option lamb[] = {{"learning_rate", 0.125, NULL},
                                  {"epsilon_root", 1e-3, NULL},
                                  {"maximize", 1, NULL},
                                  {"step_counting", 0, "parameter"}};
  gradstep_lion_options options = gradstep_lion_options_default();
  gradstep_rule_buffer buffer;
  gradstep_optimizer* optimizer = NULL;
  int64_t bytes = 0;
  expect_same_step(f, create_lion, "lion", lion, COUNT_OF(lion));
  expect_same_step(f, create_lamb, "lamb", lamb, COUNT_OF(lamb));
  assert_fails(gradstep_optimizer_create_lion(f->context, &options, f->m.parameters, kModelParameters, &optimizer),
               GRADSTEP_ERR_INVALID_ARGUMENT, "options[0] (learning_rate): is nan");
  assert_fails(gradstep_optimizer_create_lion(f->context, NULL, f->m.parameters, kModelParameters, &optimizer),
               GRADSTEP_ERR_INVALID_ARGUMENT, "learning_rate is not there");
  options.learning_rate = 0.125;
  options.beta1 = 1;
  assert_fails(gradstep_optimizer_create_lion(f->context, &options, f->m.parameters, kModelParameters, &optimizer),
               GRADSTEP_ERR_INVALID_ARGUMENT, "options[1] (beta1): is 1, expected in [0, 1)");
  assert_null(optimizer);
  options.beta1 = 0.5;
  options.seed = INT64_MIN;
  const gradstep_group_rule rule = gradstep_lion_rule(&options, &buffer);
  assert_ok(
      gradstep_rule_state_bytes(rule.rule, rule.options, rule.option_count, f->m.parameters, kModelParameters, &bytes));
  assert_int_equal(bytes, kModelElements * sizeof(float));
  assert_string_equal(buffer.seed, "-9223372036854775808");
  assert_ok(gradstep_optimizer_create_by_group(f->context, &rule, 1, f->m.parameters, kModelParameters, &optimizer));
  gradstep_optimizer_destroy(optimizer);
}

/* sign(0.1 g) = 1; m = 0.01 g; the second step's direction is sign(0.9 * 0.01 g + 0.1 g) = 1. */
static void lion_steps_by_signs(void** state) {
  fixture* f = *state;
  const gradstep_option options[] = {{"learning_rate", 0.25, NULL}};
  gradstep_tensor m;
  assert_ok(create(f, "lion", options, 1));
  f->m.grads[0] = 0;
  f->m.grads[1] = -f->m.grads[1];
  step(f);
  assert_true(f->m.values[0] == 1 && f->m.values[1] == 2.25F && f->m.values[2] == 2.75F);
  step(f);
  assert_true(f->m.values[0] == 1 && f->m.values[1] == 2.5F && f->m.values[2] == 2.5F);
  assert_ok(gradstep_optimizer_state(f->optimizer, 0, "exp_avg", &m));
  assert_true(((const float*)m.data)[0] == 0 && ((const float*)m.data)[1] < 0);
}

static const char kLion[] =
    "rule c_lion\n"
    "hyper learning_rate in [0, inf); beta1 = 0.9 in [0, 1); beta2 = 0.99 in [0, 1)\n"
    "state m\n"
    "u = sign(beta1 * m + (1 - beta1) * g)\n"
    "m = beta2 * m + (1 - beta2) * g\n"
    "p = p - learning_rate * u\n";

static void rules_are_written_as_text(void** state) {
  fixture* f = *state;
  const gradstep_option options[] = {{"learning_rate", 0.125, NULL},
                                     {"beta1", 0.5, NULL},
                                     {"weight_decay", 0.25, NULL},
                                     {"state_dtype", 0, "bf16"},
                                     {"decay_mode", 0, "independent"}};
  const char* name = NULL;
  const char* again = NULL;
  size_t before = 0;
  size_t count = 0;
  int64_t bytes = 0;
  gradstep_rule rule = {.struct_size = sizeof rule};
  assert_ok(gradstep_rule_count(&before));
  assert_ok(gradstep_rule_define(f->context, kLion, &name));
  assert_string_equal(name, "c_lion");
  assert_ok(gradstep_rule_define(f->context, kLion, &again));
  assert_ptr_equal(again, name);
  assert_ok(gradstep_rule_count(&count));
  assert_int_equal(count, before + 1);
  assert_ok(gradstep_rule_describe(before, &rule));
  assert_string_equal(rule.name, "c_lion");
  assert_string_equal(rule.formula, kLion);
  assert_string_equal(rule.states, "m");
  assert_ok(gradstep_rule_options(name, NULL, 0, 0, &count));
  assert_true(count > 4);
  assert_ok(gradstep_rule_state_bytes(name, options, 1, f->m.parameters, kModelParameters, &bytes));
  assert_int_equal(bytes, kModelElements * sizeof(float));
  expect_same_step(f, create_lion, name, options, COUNT_OF(options));
}

static void texts_that_are_no_rules_are_refused(void** state) {
  fixture* f = *state;
  const char* name = NULL;
  assert_fails(gradstep_rule_define(f->context, "rule c_bad\np = p - q\n", &name), GRADSTEP_ERR_INVALID_ARGUMENT,
               "text: line 2, column 9: expected one of g, p, t, found 'q'");
  assert_fails(gradstep_rule_define(f->context, "rule c_bad\np = p - row_mean(g)\n", &name), GRADSTEP_ERR_UNSUPPORTED,
               "text: line 2, column 9: row_mean is not supported yet");
  assert_fails(gradstep_rule_define(f->context, "rule adam\np = p - g\n", &name), GRADSTEP_ERR_INVALID_ARGUMENT,
               "text: line 1, column 6: expected the name of the rule, found 'adam', a rule of the library");
  assert_fails(gradstep_rule_define(f->context, NULL, &name), GRADSTEP_ERR_INVALID_ARGUMENT, "text: is NULL");
  assert_fails(gradstep_rule_define(f->context, kLion, NULL), GRADSTEP_ERR_INVALID_ARGUMENT, "name: is NULL");
  assert_fails(gradstep_rule_define(NULL, kLion, &name), GRADSTEP_ERR_INVALID_ARGUMENT, "context");
  assert_null(name);
}

static void state_bytes_are_known_beforehand(void** state) {
  fixture* f = *state;
  const gradstep_option options[] = {{"learning_rate", 0.1, NULL}, {"amsgrad", 1, NULL}};
  int64_t bytes = 0;
  assert_ok(gradstep_rule_state_bytes("adam", options, 2, f->m.parameters, kModelParameters, &bytes));
  assert_int_equal(bytes, 3 * kModelElements * sizeof(float));
  assert_fails(gradstep_rule_state_bytes("adam", options, 2, f->m.parameters, kModelParameters, NULL),
               GRADSTEP_ERR_INVALID_ARGUMENT, "bytes");
}

static void averages_of_weights_are_copied_out(void** state) {
  fixture* f = *state;
  const gradstep_option options[] = {{"learning_rate", 0.5, NULL}, {"average_decay", 0.75, NULL}};
  float averages[kModelElements] = {0};
  gradstep_tensor tensors[kModelParameters];
  for (size_t i = 0; i < kModelParameters; ++i) {
    tensors[i] = f->m.params[i];
    tensors[i].data = averages + ((const float*)f->m.params[i].data - f->m.values);
  }
  assert_ok(create(f, "sgd", options, 2));
  assert_fails(gradstep_optimizer_average(f->optimizer, tensors, kModelParameters, NULL), GRADSTEP_ERR_INVALID_STATE,
               "has no average yet: no step was made");
  assert_ok(gradstep_optimizer_step(f->optimizer, f->m.params, f->m.gradients, kModelParameters, NULL));
  assert_ok(gradstep_optimizer_average(f->optimizer, tensors, kModelParameters, NULL));
  assert_float_equal(averages[0], f->m.values[0], 0);
  const float before = averages[0];
  assert_ok(gradstep_optimizer_step(f->optimizer, f->m.params, f->m.gradients, kModelParameters, NULL));
  assert_ok(gradstep_optimizer_average(f->optimizer, tensors, kModelParameters, NULL));
  assert_float_equal(averages[0], 0.75F * before + 0.25F * f->m.values[0], 1e-6);
  assert_fails(gradstep_optimizer_average(f->optimizer, tensors, kModelParameters - 1, NULL),
               GRADSTEP_ERR_INVALID_ARGUMENT, "n is 1, the schema has 2 parameters");
  tensors[1].ndim = 0;
  assert_fails(gradstep_optimizer_average(f->optimizer, tensors, kModelParameters, NULL), GRADSTEP_ERR_INVALID_ARGUMENT,
               "tensors[1]: is f32 ()");
}

static void bad_options_are_named(void** state) {
  static const struct {
    gradstep_option option;
    const char* text;
  } kBad[] = {
      {{"lr", 1, NULL}, "options[1].name: 'lr' is not an option of adam, expected one of learning_rate, beta1"},
      {{NULL, 1, NULL}, "options[1].name: is NULL"},
      {{"learning_rate", 0.1, NULL}, "options[1].name: 'learning_rate' was given before"},
      {{"beta1", 1, NULL}, "options[1] (beta1): is 1, expected in [0, 1)"},
      {{"beta1", 0, "0.5"}, "options[1] (beta1): is '0.5', expected a number"},
      {{"amsgrad", 2, NULL}, "options[1] (amsgrad): is 2, expected 0 or 1"},
      {{"state_dtype", 0, "f16"}, "options[1] (state_dtype): is 'f16', expected one of native, bf16, int8"},
      {{"state_dtype", 3, NULL}, "options[1] (state_dtype): is 3, expected one of native, bf16, int8"},
      {{"state_dtype", 0.5, NULL}, "options[1] (state_dtype): is 0.5, expected one of native, bf16, int8"},
      {{"seed", 0.5, NULL}, "options[1] (seed): is 0.5, expected a whole number"},
      {{"seed", 1e300, NULL}, "options[1] (seed): is 1e+300, expected a whole number"},
      {{"seed", 0, "12x"}, "options[1] (seed): is '12x', expected a whole number of 64 bits"},
      {{"seed", 0, "9223372036854775808"}, "expected a whole number of 64 bits"},
  };
  fixture* f = *state;
  const gradstep_option good[] = {{"learning_rate", 0.1, NULL}, {"seed", 0, "-9223372036854775808"}};
  for (size_t i = 0; i < COUNT_OF(kBad); ++i) {
    const gradstep_option options[] = {good[0], kBad[i].option};
    assert_fails(create(f, "adam", options, 2), GRADSTEP_ERR_INVALID_ARGUMENT, kBad[i].text);
    assert_null(f->optimizer);
  }
  assert_fails(create(f, "adam", NULL, 0), GRADSTEP_ERR_INVALID_ARGUMENT,
               "options: learning_rate is not there, and adam has no default for it");
  assert_fails(create(f, "adam", NULL, 1), GRADSTEP_ERR_INVALID_ARGUMENT, "options: is NULL");
  assert_fails(create(f, "sm3", good, 1), GRADSTEP_ERR_INVALID_ARGUMENT, "rule: 'sm3' is not known");
  assert_ok(create(f, "adam", good, 2));
}

static void narrow_state_of_f64_parameters_is_refused(void** state) {
  fixture* f = *state;
  const gradstep_option options[] = {{"learning_rate", 0.1, NULL}, {"state_dtype", 0, "bf16"}};
  int64_t bytes = 0;
  f->m.parameters[1].dtype = dtype_f64();
  assert_fails(create(f, "adam", options, 2), GRADSTEP_ERR_UNSUPPORTED, "state_dtype");
  assert_fails(gradstep_rule_state_bytes("adam", options, 2, f->m.parameters, kModelParameters, &bytes),
               GRADSTEP_ERR_UNSUPPORTED, "state_dtype");
}

static void groups_choose_their_rules(void** state) {
  fixture* f = *state;
  gradstep_context* context = f->context;
  gradstep_parameter* parameters = f->m.parameters;
  const size_t n = kModelParameters;
  gradstep_optimizer* optimizer = NULL;
  for (size_t i = 0; i < n; ++i) parameters[i].group = i == 0 ? 0 : 1;
  /* docs:begin by_group */
  const gradstep_option for_matrices[] = {{"learning_rate", 1e-4, NULL}, {"weight_decay", 0.1, NULL}};
  const gradstep_option for_the_rest[] = {{"learning_rate", 1e-3, NULL}};
  const gradstep_group_rule groups[] = {{"lion", for_matrices, 2}, {"adam", for_the_rest, 1}};
  gradstep_status status = gradstep_optimizer_create_by_group(context, groups, 2, parameters, n, &optimizer);
  /* docs:end by_group */
  assert_ok(status);
  double value = 0;
  assert_ok(gradstep_optimizer_get_value(optimizer, 0, "beta2", &value));
  assert_true(value == 0.99);
  assert_ok(gradstep_optimizer_get_value(optimizer, 1, "beta2", &value));
  assert_true(value == 0.999);
  gradstep_optimizer_destroy(optimizer);
  optimizer = NULL;
  const gradstep_option bad[] = {{"learning_rate", 1e-3, NULL}, {"beta1", 1, NULL}};
  const gradstep_group_rule wrong[] = {groups[0], {"adam", bad, 2}};
  const gradstep_group_rule unequal[] = {
      groups[0], {"adam", (const gradstep_option[]){for_the_rest[0], {"maximize", 1, NULL}}, 2}};
  assert_fails(gradstep_optimizer_create_by_group(context, wrong, 2, parameters, n, &optimizer),
               GRADSTEP_ERR_INVALID_ARGUMENT, "groups[1]: options[1] (beta1): is 1, expected in [0, 1)");
  assert_fails(gradstep_optimizer_create_by_group(context, unequal, 2, parameters, n, &optimizer),
               GRADSTEP_ERR_INVALID_ARGUMENT, "groups[1]: maximize is 1, that of groups[0] is 0");
  assert_fails(gradstep_optimizer_create_by_group(context, groups, 0, parameters, n, &optimizer),
               GRADSTEP_ERR_INVALID_ARGUMENT, "group_count: is 0");
  assert_fails(gradstep_optimizer_create_by_group(context, NULL, 2, parameters, n, &optimizer),
               GRADSTEP_ERR_INVALID_ARGUMENT, "groups: is NULL");
  parameters[1].group = 2;
  assert_fails(gradstep_optimizer_create_by_group(context, groups, 2, parameters, n, &optimizer),
               GRADSTEP_ERR_INVALID_ARGUMENT, "its group is 2, and there are rules for groups 0 to 1");
  assert_null(optimizer);
}

static void the_documentations_example_runs(void** state) {
  fixture* f = *state;
  gradstep_context* context = f->context;
  const gradstep_parameter* parameters = f->m.parameters;
  gradstep_optimizer* optimizer = NULL;
  /* docs:begin by_name */
  const gradstep_option options[] = {
      {"learning_rate", 1e-4, NULL},
      {"weight_decay", 0.1, NULL},
      {"state_dtype", 0, "bf16"},
  };
  gradstep_status status = gradstep_optimizer_create(context, "lion", options, 3, parameters, 2, &optimizer);
  /* docs:end by_name */
  assert_ok(status);
  gradstep_optimizer_destroy(optimizer);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_rule_describes_itself),
      cmocka_unit_test(options_say_what_is_legal),
      cmocka_unit_test_setup_teardown(names_make_the_optimizer_of_the_struct, fixture_setup, fixture_teardown),
      cmocka_unit_test_setup_teardown(adamw_is_adam_with_decoupled_decay, fixture_setup, fixture_teardown),
      cmocka_unit_test_setup_teardown(structs_of_headers_alone_make_the_optimizer_of_the_name, fixture_setup,
                                      fixture_teardown),
      cmocka_unit_test_setup_teardown(lion_steps_by_signs, fixture_setup, fixture_teardown),
      cmocka_unit_test_setup_teardown(rules_are_written_as_text, fixture_setup, fixture_teardown),
      cmocka_unit_test_setup_teardown(texts_that_are_no_rules_are_refused, fixture_setup, fixture_teardown),
      cmocka_unit_test_setup_teardown(state_bytes_are_known_beforehand, fixture_setup, fixture_teardown),
      cmocka_unit_test_setup_teardown(the_documentations_example_runs, fixture_setup, fixture_teardown),
      cmocka_unit_test_setup_teardown(averages_of_weights_are_copied_out, fixture_setup, fixture_teardown),
      cmocka_unit_test_setup_teardown(groups_choose_their_rules, fixture_setup, fixture_teardown),
      cmocka_unit_test_setup_teardown(bad_options_are_named, fixture_setup, fixture_teardown),
      cmocka_unit_test_setup_teardown(narrow_state_of_f64_parameters_is_refused, fixture_setup, fixture_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
