/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Accumulator, reducer and optimizer in one push, on a local communicator with one thread per rank. SGD with learning
 * rate 1 makes a step visible as the gradient itself; rank r's gradients are (r + 1) times those of the model.
 */
#include <math.h>
#include <string.h>

#include "support.h"

enum { kRanks = 4, kSteps = 2 };

typedef struct rank_state {
  model m;
  gradstep_comm* comm;
  gradstep_optimizer* optimizer;
  gradstep_accumulator* accumulator;
  gradstep_reducer* reducer;
  gradstep_updater* updater;
  gradstep_updater_options options;
  outcome out;
  int32_t applied;
  gradstep_comm_statistics comm_stats;
  gradstep_updater_statistics stats;
} rank_state;

typedef struct job {
  gradstep_context* context;
  int64_t steps;
  rank_state ranks[kRanks];
} job;

static int setup(void** state) {
  static job j;
  memset(&j, 0, sizeof j);
  j.context = new_context(2);
  j.steps = kSteps;
  for (int r = 0; r < kRanks; ++r) {
    model_init(&j.ranks[r].m);
    for (int i = 0; i < kModelElements; ++i) j.ranks[r].m.grads[i] *= (float)(r + 1);
    if (gradstep_updater_options_init(&j.ranks[r].options, sizeof j.ranks[r].options) != GRADSTEP_OK) return -1;
    j.ranks[r].comm_stats.struct_size = sizeof j.ranks[r].comm_stats;
    j.ranks[r].stats.struct_size = sizeof j.ranks[r].stats;
  }
  *state = &j;
  return 0;
}

static int teardown(void** state) {
  job* j = *state;
  for (int r = 0; r < kRanks; ++r) {
    rank_state* self = &j->ranks[r];
    destroy_handles(self->updater, self->reducer, self->accumulator, self->optimizer, self->comm);
  }
  gradstep_context_destroy(j->context);
  return 0;
}

static void connect_ranks(job* j, int64_t timeout_ms) {
  gradstep_comm* comms[kRanks];
  new_local_comms(j->context, kRanks, timeout_ms, comms);
  for (int r = 0; r < kRanks; ++r) j->ranks[r].comm = comms[r];
}

/* The whole chain of one rank; without a communicator there is no reducer. */
static void create_body(int32_t rank, void* user) {
  job* j = user;
  rank_state* self = &j->ranks[rank];
  gradstep_sgd_options sgd;
  gradstep_accumulator_options accumulation;
  record(&self->out, gradstep_sgd_options_init(&sgd, sizeof sgd));
  record(&self->out, gradstep_accumulator_options_init(&accumulation, sizeof accumulation));
  sgd.learning_rate = 1;
  accumulation.steps = j->steps;
  record(&self->out,
         gradstep_optimizer_create_sgd(j->context, &sgd, self->m.parameters, kModelParameters, &self->optimizer));
  record(&self->out, gradstep_accumulator_create(j->context, &accumulation, self->m.parameters, kModelParameters,
                                                 &self->accumulator));
  if (self->comm != NULL) {
    record(&self->out,
           gradstep_reducer_create(j->context, self->comm, NULL, self->m.parameters, kModelParameters, &self->reducer));
  }
  record(&self->out, gradstep_updater_create(j->context, self->optimizer, self->accumulator, self->reducer,
                                             &self->options, &self->updater));
}

static void push_body(int32_t rank, void* user) {
  rank_state* self = &((job*)user)->ranks[rank];
  self->applied = -1;
  record(&self->out, gradstep_updater_push(self->updater, self->m.params, self->m.gradients, kModelParameters, 1, NULL,
                                           &self->applied));
  if (self->reducer != NULL) {
    record(&self->out, gradstep_reducer_comm_stats(self->reducer, &self->comm_stats));
  }
}

static void flush_body(int32_t rank, void* user) {
  rank_state* self = &((job*)user)->ranks[rank];
  self->applied = -1;
  record(&self->out, gradstep_updater_flush(self->updater, self->m.params, kModelParameters, NULL, &self->applied));
}

static void run_all(job* j, void (*body)(int32_t rank, void* user)) {
  run_ranks(kRanks, body, j);
  for (int r = 0; r < kRanks; ++r) assert_outcome_ok(&j->ranks[r].out);
}

/* values[i] = (i + 1) (1 - factor / 8): `factor` model gradients have been subtracted. */
static void assert_values(const rank_state* self, float factor) {
  for (int i = 0; i < kModelElements; ++i) {
    assert_true(self->m.values[i] == (float)(i + 1) - factor * (float)(i + 1) / 8);
  }
}

static int32_t poll(const rank_state* self) {
  int32_t done = -1;
  assert_ok(gradstep_updater_poll(self->updater, &done));
  return done;
}

static void poll_sees_what_is_under_way_in_the_handles_of_the_chain(void** state) {
  job* j = *state;
  rank_state* self = &j->ranks[0];
  connect_ranks(j, 20000);
  run_all(j, create_body);
  run_all(j, push_body);
  assert_int_equal(poll(self), 1);
  for (size_t i = 0; i < kModelParameters; ++i) {
    assert_ok(gradstep_reducer_push(self->reducer, i, &self->m.gradients[i], NULL));
  }
  assert_int_equal(poll(self), 0); /* the peers have not come */
  assert_ok(gradstep_reducer_cancel(self->reducer));
  assert_int_equal(poll(self), 1);
  assert_fails(gradstep_updater_poll(self->updater, NULL), GRADSTEP_ERR_INVALID_ARGUMENT, "done", "NULL");
}

static void without_accumulator_and_reducer_every_push_steps(void** state) {
  job* j = *state;
  rank_state* self = &j->ranks[0];
  create_body(0, j);
  gradstep_updater_destroy(self->updater);
  self->updater = NULL;
  assert_ok(gradstep_updater_create(j->context, self->optimizer, NULL, NULL, NULL, &self->updater));
  push_body(0, j);
  assert_int_equal(self->applied, 1);
  push_body(0, j);
  assert_outcome_ok(&self->out);
  assert_values(self, 2);
}

static void handles_may_be_destroyed_before_the_updater(void** state) {
  job* j = *state;
  rank_state* self = &j->ranks[0];
  create_body(0, j);
  gradstep_optimizer_destroy(self->optimizer);
  gradstep_accumulator_destroy(self->accumulator);
  self->optimizer = NULL;
  self->accumulator = NULL;
  push_body(0, j);
  assert_int_equal(self->applied, 0);
  assert_values(self, 0);
  push_body(0, j);
  assert_int_equal(self->applied, 1);
  assert_outcome_ok(&self->out);
  assert_values(self, 1);
}

static void the_network_is_used_once_per_window(void** state) {
  job* j = *state;
  gradstep_comm_statistics before;
  connect_ranks(j, 20000);
  run_all(j, create_body);
  for (int window = 1; window <= 2; ++window) {
    assert_ok(gradstep_reducer_comm_stats(j->ranks[0].reducer, &j->ranks[0].comm_stats));
    before = j->ranks[0].comm_stats;
    run_all(j, push_body);
    for (int r = 0; r < kRanks; ++r) assert_int_equal(j->ranks[r].applied, 0);
    assert_true(j->ranks[0].comm_stats.bytes_sent == before.bytes_sent);
    assert_true(j->ranks[0].comm_stats.all_reduces == before.all_reduces);
    run_all(j, push_body);
    assert_in_range(j->ranks[0].comm_stats.all_reduces - before.all_reduces, 1, 2); /* the bucket, and the control */
    for (int r = 0; r < kRanks; ++r) {
      assert_int_equal(j->ranks[r].applied, 1);
      assert_values(&j->ranks[r], 2.5F * (float)window);
    }
  }
  assert_ok(gradstep_updater_stats(j->ranks[2].updater, &j->ranks[2].stats));
  assert_int_equal(j->ranks[2].stats.pushes, 4);
  assert_int_equal(j->ranks[2].stats.windows, 2);
  assert_int_equal(j->ranks[2].stats.steps, 2);
  assert_int_equal(j->ranks[2].stats.skipped_steps, 0);
}

static void flush_ends_a_partial_window_on_all_ranks(void** state) {
  job* j = *state;
  j->steps = 8;
  connect_ranks(j, 20000);
  run_all(j, create_body);
  run_all(j, flush_body);
  for (int r = 0; r < kRanks; ++r) assert_int_equal(j->ranks[r].applied, 0);
  run_all(j, push_body);
  run_all(j, flush_body);
  for (int r = 0; r < kRanks; ++r) {
    assert_int_equal(j->ranks[r].applied, 1);
    assert_values(&j->ranks[r], 2.5F);
  }
}

static void a_non_finite_rank_makes_no_rank_step(void** state) {
  job* j = *state;
  connect_ranks(j, 20000);
  for (int r = 0; r < kRanks; ++r) j->ranks[r].options.skip_nonfinite = 1;
  j->ranks[2].m.grads[4] = NAN;
  run_all(j, create_body);
  run_all(j, push_body);
  run_all(j, push_body);
  for (int r = 0; r < kRanks; ++r) {
    assert_int_equal(j->ranks[r].applied, 0);
    assert_values(&j->ranks[r], 0);
    assert_ok(gradstep_updater_stats(j->ranks[r].updater, &j->ranks[r].stats));
    assert_int_equal(j->ranks[r].stats.skipped_steps, 1);
  }
}

static void max_norm_clips_the_reduced_gradient(void** state) {
  /* the mean's norm is 2.5 sqrt(285) / 8; tolerance: f32 rounding of values up to 9 */
  const double coefficient = 0.5 / (2.5 * sqrt(285.0) / 8 + 1e-6);
  job* j = *state;
  connect_ranks(j, 20000);
  for (int r = 0; r < kRanks; ++r) j->ranks[r].options.max_norm = 0.5;
  run_all(j, create_body);
  run_all(j, push_body);
  run_all(j, push_body);
  for (int r = 0; r < kRanks; ++r) {
    for (int i = 0; i < kModelElements; ++i) {
      const double expected = (i + 1) - coefficient * 2.5 * (i + 1) / 8;
      assert_true(fabs((double)j->ranks[r].m.values[i] - expected) <= 1e-6);
    }
    assert_memory_equal(j->ranks[r].m.values, j->ranks[0].m.values, sizeof j->ranks[0].m.values);
  }
}

static void last_push_without_rank_3_body(int32_t rank, void* user) {
  if (rank != 3) push_body(rank, user);
}

static void recover_body(int32_t rank, void* user) {
  rank_state* self = &((job*)user)->ranks[rank];
  record(&self->out, gradstep_updater_recover(self->updater, self->comm, self->m.params, kModelParameters, NULL));
  flush_body(rank, user);
}

static void survivors_of_a_lost_peer_recover_their_window(void** state) {
  enum { kSurvivors = 3 };
  job* j = *state;
  gradstep_comm* survivors[kSurvivors];
  connect_ranks(j, 2000);
  run_all(j, create_body);
  run_all(j, push_body);
  run_ranks(kRanks, last_push_without_rank_3_body, j);
  for (int r = 0; r < kSurvivors; ++r) {
    rank_state* self = &j->ranks[r];
    assert_true(self->out.status == GRADSTEP_ERR_TIMEOUT || self->out.status == GRADSTEP_ERR_PEER_LOST);
    assert_values(self, 0);
    memset(&self->out, 0, sizeof self->out);
    assert_fails(gradstep_updater_push(self->updater, self->m.params, self->m.gradients, kModelParameters, 1, NULL,
                                       &self->applied),
                 GRADSTEP_ERR_INVALID_STATE, "flush");
    gradstep_comm_destroy(self->comm);
  }
  new_local_comms(j->context, kSurvivors, 20000, survivors);
  for (int r = 0; r < kSurvivors; ++r) j->ranks[r].comm = survivors[r];
  run_ranks(kSurvivors, recover_body, j);
  for (int r = 0; r < kSurvivors; ++r) {
    assert_outcome_ok(&j->ranks[r].out);
    assert_int_equal(j->ranks[r].applied, 1);
    assert_values(&j->ranks[r], 2); /* (1 + 2 + 3) / 3 */
  }
}

/* Rank r's gradient is r + 1 model gradients, 2.5 on average. Inner rate 1, outer rate 1/2. */
static void an_outer_optimizer_steps_by_what_a_round_has_changed(void** state) {
  job* j = *state;
  gradstep_optimizer* outer[kRanks];
  gradstep_sgd_options sgd;
  int64_t steps = 0;
  j->steps = 1;
  connect_ranks(j, 20000);
  assert_ok(gradstep_sgd_options_init(&sgd, sizeof sgd));
  sgd.learning_rate = 0.5;
  for (int r = 0; r < kRanks; ++r) {
    rank_state* self = &j->ranks[r];
    assert_ok(gradstep_optimizer_create_sgd(j->context, &sgd, self->m.parameters, kModelParameters, &outer[r]));
    self->options.sync = GRADSTEP_SYNC_DELTAS;
    self->options.sync_steps = 2;
    self->options.outer = outer[r];
  }
  run_all(j, create_body);
  run_all(j, push_body);
  for (int r = 0; r < kRanks; ++r) assert_values(&j->ranks[r], (float)(r + 1));
  run_all(j, push_body);
  for (int r = 0; r < kRanks; ++r) {
    assert_int_equal(j->ranks[r].applied, 1);
    assert_values(&j->ranks[r], 2.5F);
    assert_ok(gradstep_optimizer_step_count(outer[r], &steps));
    assert_int_equal(steps, 1);
    gradstep_optimizer_destroy(outer[r]); /* the updater has its own reference */
  }
  run_all(j, push_body);
  run_all(j, push_body);
  for (int r = 0; r < kRanks; ++r) assert_values(&j->ranks[r], 5);
}

static void chains_that_do_not_fit_are_refused(void** state) {
  job* j = *state;
  rank_state* self = &j->ranks[0];
  gradstep_accumulator_options accumulation;
  gradstep_accumulator* accumulator = NULL;
  gradstep_updater* updater = NULL;
  connect_ranks(j, 20000);
  run_all(j, create_body);
  assert_fails(gradstep_updater_create(j->context, NULL, NULL, NULL, NULL, &updater), GRADSTEP_ERR_INVALID_ARGUMENT,
               "optimizer", "NULL");
  assert_fails(gradstep_updater_create(j->context, self->optimizer, NULL, NULL, NULL, NULL),
               GRADSTEP_ERR_INVALID_ARGUMENT, "out");
#define REFUSED(field, bad_value, text)                                                          \
  do {                                                                                           \
    gradstep_updater_options o = self->options;                                                  \
    o.field = (bad_value);                                                                       \
    assert_fails(gradstep_updater_create(j->context, self->optimizer, NULL, NULL, &o, &updater), \
                 GRADSTEP_ERR_INVALID_ARGUMENT, #field, text);                                   \
  } while (0)
  REFUSED(sync, -1, "-1");
  REFUSED(sync, 4, "4");
  REFUSED(sync_steps, 0, "0");
  REFUSED(max_norm, -1, "-1");
  REFUSED(clip_value, NAN, "nan");
  REFUSED(grad_scale, INFINITY, "inf");
  REFUSED(outer, self->optimizer, "options.sync is 0");
#undef REFUSED
  {
    gradstep_updater_options o = self->options;
    o.sync = GRADSTEP_SYNC_DELTAS;
    o.outer = self->optimizer;
    assert_fails(gradstep_updater_create(j->context, self->optimizer, NULL, NULL, &o, &updater),
                 GRADSTEP_ERR_INVALID_ARGUMENT, "outer", "the optimizer itself");
  }
  assert_ok(gradstep_accumulator_create(j->context, NULL, self->m.parameters, 1, &accumulator));
  assert_fails(gradstep_updater_create(j->context, self->optimizer, accumulator, NULL, NULL, &updater),
               GRADSTEP_ERR_MISMATCH, "parameters");
  gradstep_accumulator_destroy(accumulator);
  assert_ok(gradstep_accumulator_options_init(&accumulation, sizeof accumulation));
  accumulation.mode = GRADSTEP_ACCUMULATE_WEIGHTED;
  accumulation.trigger = GRADSTEP_TRIGGER_MIN_WEIGHT;
  accumulation.min_weight = 4;
  assert_ok(gradstep_accumulator_create(j->context, &accumulation, self->m.parameters, kModelParameters, &accumulator));
  assert_fails(gradstep_updater_create(j->context, self->optimizer, accumulator, self->reducer, NULL, &updater),
               GRADSTEP_ERR_UNSUPPORTED, "trigger");
  assert_null(updater);
  gradstep_accumulator_destroy(accumulator);
}

static void bad_pushes_are_named_and_add_nothing(void** state) {
  job* j = *state;
  rank_state* self = &j->ranks[0];
  const model good = self->m;
  int64_t column[2] = {3, 1};
  double doubles[6] = {0};
  int64_t count = -1;
  create_body(0, j);
#define REFUSED(...)                                                                                              \
  do {                                                                                                            \
    assert_fails(                                                                                                 \
        gradstep_updater_push(self->updater, self->m.params, self->m.gradients, kModelParameters, 1, NULL, NULL), \
        GRADSTEP_ERR_INVALID_ARGUMENT, __VA_ARGS__);                                                              \
    self->m = good;                                                                                               \
  } while (0)
  self->m.gradients[1].ndim = 2;
  self->m.gradients[1].shape = column;
  REFUSED("grads[1]", "dense.bias", "(3,1)");
  self->m.params[0] = tensor_of(doubles, dtype_f64(), 2, good.params[0].shape);
  REFUSED("params[0]", "f64", "dense.weight");
  self->m.gradients[0].data = self->m.values;
  REFUSED("params[0]", "grads[0]", "overlaps");
#undef REFUSED
  assert_fails(gradstep_updater_push(self->updater, self->m.params, self->m.gradients, 3, 1, NULL, NULL),
               GRADSTEP_ERR_INVALID_ARGUMENT, "n is 3", "2");
  assert_fails(gradstep_updater_push(NULL, self->m.params, self->m.gradients, kModelParameters, 1, NULL, NULL),
               GRADSTEP_ERR_INVALID_ARGUMENT, "updater", "NULL");
  assert_ok(gradstep_accumulator_count(self->accumulator, &count));
  assert_int_equal(count, 0);
  assert_values(self, 0);
}

/* Rank r steps by (r + 1) gradients; on average that is 2.5. */
static void deltas_and_parameters_are_averaged_after_local_steps(void** state) {
  job* j = *state;
  static const int32_t kSyncs[] = {GRADSTEP_SYNC_DELTAS, GRADSTEP_SYNC_PARAMETERS, GRADSTEP_SYNC_PARAMETERS_PARTIAL};
  for (size_t k = 0; k < COUNT_OF(kSyncs); ++k) {
    teardown(state);
    assert_int_equal(setup(state), 0);
    j->steps = 1;
    for (int r = 0; r < kRanks; ++r) j->ranks[r].options.sync = kSyncs[k];
    connect_ranks(j, 20000);
    run_all(j, create_body);
    run_all(j, push_body);
    for (int r = 0; r < kRanks; ++r) {
      assert_int_equal(j->ranks[r].applied, 1);
      assert_values(&j->ranks[r], 2.5F); /* one bucket: the first partition is everything */
    }
  }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(without_accumulator_and_reducer_every_push_steps),
      TEST(poll_sees_what_is_under_way_in_the_handles_of_the_chain),
      TEST(handles_may_be_destroyed_before_the_updater),
      TEST(the_network_is_used_once_per_window),
      TEST(flush_ends_a_partial_window_on_all_ranks),
      TEST(a_non_finite_rank_makes_no_rank_step),
      TEST(max_norm_clips_the_reduced_gradient),
      TEST(survivors_of_a_lost_peer_recover_their_window),
      TEST(deltas_and_parameters_are_averaged_after_local_steps),
      TEST(an_outer_optimizer_steps_by_what_a_round_has_changed),
      TEST(chains_that_do_not_fit_are_refused),
      TEST(bad_pushes_are_named_and_add_nothing),
  };
  return cmocka_run_group_tests_name("updater", tests, NULL, NULL);
}
