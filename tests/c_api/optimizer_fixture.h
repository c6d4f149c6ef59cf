/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/* optimizer_fixture.h: what the tests of optimizer.h start from: a model, an optimizer of it, and options to change. */
#ifndef GRADSTEP_TESTS_C_API_OPTIMIZER_FIXTURE_H
#define GRADSTEP_TESTS_C_API_OPTIMIZER_FIXTURE_H

#include "support.h"

typedef struct fixture {
  gradstep_context* context;
  gradstep_optimizer* optimizer;
  gradstep_sgd_options sgd;         /* learning rate 1 */
  gradstep_rmsprop_options rmsprop; /* learning rate 1/8 */
  gradstep_adagrad_options adagrad; /* learning rate 1/8 */
  gradstep_adam_options adam;       /* learning rate 1/8 */
  gradstep_step_options step;
  model m;
} fixture;

/* cmocka's setup and teardown: no optimizer yet, all options at their defaults but the learning rates. */
int fixture_setup(void** state);
int fixture_teardown(void** state);

/* Makes the optimizer anew from the options of its rule. */
void create_sgd(fixture* f);
void create_rmsprop(fixture* f);
void create_adagrad(fixture* f);
void create_adam(fixture* f);

/* One step of the model, which must succeed; and one with f->step. */
void step(fixture* f);
gradstep_status step_ex(fixture* f);

int64_t steps_of(fixture* f);

#endif /* GRADSTEP_TESTS_C_API_OPTIMIZER_FIXTURE_H */
