/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "optimizer_fixture.h"

#include <string.h>

int fixture_setup(void** state) {
  static fixture f;
  memset(&f, 0, sizeof f);
  f.context = new_context(1);
  model_init(&f.m);
  if (gradstep_sgd_options_init(&f.sgd, sizeof f.sgd) != GRADSTEP_OK) return -1;
  if (gradstep_adam_options_init(&f.adam, sizeof f.adam) != GRADSTEP_OK) return -1;
  if (gradstep_step_options_init(&f.step, sizeof f.step) != GRADSTEP_OK) return -1;
  if (gradstep_rmsprop_options_init(&f.rmsprop, sizeof f.rmsprop) != GRADSTEP_OK) return -1;
  if (gradstep_adagrad_options_init(&f.adagrad, sizeof f.adagrad) != GRADSTEP_OK) return -1;
  f.sgd.learning_rate = 1;
  f.rmsprop.learning_rate = 0.125;
  f.adagrad.learning_rate = 0.125;
  f.adam.learning_rate = 0.125;
  *state = &f;
  return 0;
}

int fixture_teardown(void** state) {
  fixture* f = *state;
  gradstep_optimizer_destroy(f->optimizer);
  gradstep_context_destroy(f->context);
  return 0;
}

#define CREATE(rule)                                                                                               \
  do {                                                                                                             \
    gradstep_optimizer_destroy(f->optimizer);                                                                      \
    f->optimizer = NULL;                                                                                           \
    assert_ok(                                                                                                     \
        gradstep_optimizer_create_##rule(f->context, &f->rule, f->m.parameters, kModelParameters, &f->optimizer)); \
  } while (0)

void create_sgd(fixture* f) { CREATE(sgd); }
void create_rmsprop(fixture* f) { CREATE(rmsprop); }
void create_adagrad(fixture* f) { CREATE(adagrad); }
void create_adam(fixture* f) { CREATE(adam); }

void step(fixture* f) {
  assert_ok(gradstep_optimizer_step(f->optimizer, f->m.params, f->m.gradients, kModelParameters, NULL));
}

gradstep_status step_ex(fixture* f) {
  return gradstep_optimizer_step_ex(f->optimizer, f->m.params, f->m.gradients, NULL, kModelParameters, &f->step, NULL);
}

int64_t steps_of(fixture* f) {
  int64_t count = -1;
  assert_ok(gradstep_optimizer_step_count(f->optimizer, &count));
  return count;
}
