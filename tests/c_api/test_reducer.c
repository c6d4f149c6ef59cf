/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/* A reducer per rank over a local communicator, one thread per rank. Rank r's gradient is (r + 1) times that of rank 0,
 * whose elements are multiples of 1/8: sums, means of four and weighted means are exact in f32. */
#include <math.h>
#include <string.h>

#include "support.h"

enum { kRanks = 4 };

typedef struct rank_state {
  model m;
  gradstep_reducer_options options;
  gradstep_reducer* reducer;
  outcome out;
  double weight;
  double norm;
  gradstep_comm_statistics stats;
} rank_state;

typedef struct job {
  gradstep_context* context;
  gradstep_comm* comms[kRanks];
  rank_state ranks[kRanks];
} job;

static int setup(void** state) {
  static job j;
  memset(&j, 0, sizeof j);
  j.context = new_context(2);
  new_local_comms(j.context, kRanks, 20000, j.comms);
  for (int r = 0; r < kRanks; ++r) {
    rank_state* self = &j.ranks[r];
    model_init(&self->m);
    for (int i = 0; i < kModelElements; ++i) self->m.grads[i] *= (float)(r + 1);
    if (gradstep_reducer_options_init(&self->options, sizeof self->options) != GRADSTEP_OK) return -1;
    self->weight = 1;
    self->stats.struct_size = sizeof self->stats;
  }
  *state = &j;
  return 0;
}

static int teardown(void** state) {
  job* j = *state;
  for (int r = 0; r < kRanks; ++r) gradstep_reducer_destroy(j->ranks[r].reducer);
  for (int r = 0; r < kRanks; ++r) gradstep_comm_destroy(j->comms[r]);
  gradstep_context_destroy(j->context);
  return 0;
}

static void create_body(int32_t rank, void* user) {
  job* j = user;
  rank_state* self = &j->ranks[rank];
  record(&self->out, gradstep_reducer_create(j->context, j->comms[rank], &self->options, self->m.parameters,
                                             kModelParameters, &self->reducer));
}

static void reduce_in_place_body(int32_t rank, void* user) {
  rank_state* self = &((job*)user)->ranks[rank];
  record(&self->out, gradstep_reducer_reduce(self->reducer, self->m.gradients, self->m.gradients, kModelParameters,
                                             self->weight, NULL));
}

static void run_all(job* j, void (*body)(int32_t rank, void* user)) {
  run_ranks(kRanks, body, j);
  for (int r = 0; r < kRanks; ++r) assert_outcome_ok(&j->ranks[r].out);
}

/* Every rank holds `factor` times rank 0's gradient. */
static void assert_grads(const job* j, float factor) {
  for (int r = 0; r < kRanks; ++r) {
    for (int i = 0; i < kModelElements; ++i) {
      assert_true(j->ranks[r].m.grads[i] == factor * (float)(i + 1) / 8);
    }
  }
}

static void mean_is_the_default(void** state) {
  job* j = *state;
  run_all(j, create_body);
  run_all(j, reduce_in_place_body);
  assert_grads(j, 2.5F);
}

static void sum_and_weighted_mean(void** state) {
  job* j = *state;
  for (int r = 0; r < kRanks; ++r) j->ranks[r].options.average = GRADSTEP_AVERAGE_SUM;
  run_all(j, create_body);
  run_all(j, reduce_in_place_body);
  assert_grads(j, 10);
  teardown(state);
  assert_int_equal(setup(state), 0);
  for (int r = 0; r < kRanks; ++r) {
    j->ranks[r].options.average = GRADSTEP_AVERAGE_WEIGHTED;
    j->ranks[r].weight = r == 3 ? 5 : 1;
  }
  run_all(j, create_body);
  run_all(j, reduce_in_place_body);
  assert_grads(j, 3.25F); /* (1 + 2 + 3 + 20) / 8 */
}

static void push_in_any_order_body(int32_t rank, void* user) {
  rank_state* self = &((job*)user)->ranks[rank];
  const size_t first = (size_t)rank % 2;
  record(&self->out, gradstep_reducer_begin(self->reducer, 1, NULL));
  record(&self->out, gradstep_reducer_push(self->reducer, first, &self->m.gradients[first], NULL));
  record(&self->out, gradstep_reducer_push(self->reducer, 1 - first, &self->m.gradients[1 - first], NULL));
  record(&self->out, gradstep_reducer_wait(self->reducer, self->m.gradients, kModelParameters, NULL));
  record(&self->out, gradstep_reducer_comm_stats(self->reducer, &self->stats));
}

static void pushes_may_come_in_another_order_on_each_rank(void** state) {
  job* j = *state;
  gradstep_bucket_statistics buckets[4];
  size_t count = 0;
  for (int r = 0; r < kRanks; ++r) j->ranks[r].options.fuse_threshold = 1;
  run_all(j, create_body);
  run_all(j, push_in_any_order_body);
  assert_grads(j, 2.5F);
  memset(buckets, 0, sizeof buckets);
  for (size_t i = 0; i < COUNT_OF(buckets); ++i) buckets[i].struct_size = sizeof buckets[i];
  assert_ok(gradstep_reducer_stats(j->ranks[0].reducer, NULL, sizeof buckets[0], 0, &count));
  assert_int_equal(count, 2);
  assert_ok(gradstep_reducer_stats(j->ranks[0].reducer, buckets, sizeof buckets[0], COUNT_OF(buckets), &count));
  assert_int_equal(buckets[0].elements, 3); /* reverse order: the last parameter leaves first */
  assert_int_equal(buckets[1].elements, 6);
  assert_int_equal(buckets[0].exchanges, 1);
  assert_int_equal(buckets[1].exchanges, 1);
}

static void reduce_and_gather_views_body(int32_t rank, void* user) {
  rank_state* self = &((job*)user)->ranks[rank];
  gradstep_tensor norm;
  record(&self->out,
         gradstep_reducer_reduce(self->reducer, self->m.gradients, NULL, kModelParameters, self->weight, NULL));
  if (record(&self->out, gradstep_reducer_norm(self->reducer, &norm, NULL))) self->norm = *(const double*)norm.data;
}

static void views_and_norm_show_the_result_without_a_copy(void** state) {
  job* j = *state;
  gradstep_tensor views[kModelParameters];
  run_all(j, create_body);
  assert_fails(gradstep_reducer_gradients(j->ranks[0].reducer, views, kModelParameters, NULL),
               GRADSTEP_ERR_INVALID_STATE, "window");
  run_all(j, reduce_and_gather_views_body);
  for (int r = 0; r < kRanks; ++r) {
    assert_true(j->ranks[r].m.grads[0] == (float)(r + 1) / 8); /* results NULL: the gradients are left alone */
    assert_ok(gradstep_reducer_gradients(j->ranks[r].reducer, views, kModelParameters, NULL));
    assert_true(((const float*)views[0].data)[0] == 2.5F / 8);
    assert_true(((const float*)views[1].data)[2] == 2.5F * 9 / 8);
    /* one rounding of the root; the squares are exact in f64 */
    assert_true(fabs(j->ranks[r].norm - sqrt(285.0) * 2.5 / 8) <= 2e-15);
  }
}

static void streams_are_for_devices(void** state) {
  job* j = *state;
  gradstep_tensor views[kModelParameters];
  run_all(j, create_body);
  run_all(j, reduce_and_gather_views_body);
  assert_fails(gradstep_reducer_gradients(j->ranks[0].reducer, views, kModelParameters, j),
               GRADSTEP_ERR_INVALID_ARGUMENT, "stream", "CPU");
  assert_fails(gradstep_reducer_norm(j->ranks[0].reducer, views, j), GRADSTEP_ERR_INVALID_ARGUMENT, "stream", "CPU");
}

static void an_absent_gradient_contributes_zeros(void** state) {
  job* j = *state;
  j->ranks[3].m.gradients[1].data = NULL;
  run_all(j, create_body);
  run_all(j, reduce_and_gather_views_body);
  for (int r = 0; r < kRanks; ++r) {
    gradstep_tensor views[kModelParameters];
    assert_ok(gradstep_reducer_gradients(j->ranks[r].reducer, views, kModelParameters, NULL));
    assert_true(((const float*)views[0].data)[0] == 2.5F / 8);
    assert_true(((const float*)views[1].data)[0] == 1.5F * 7 / 8); /* (1 + 2 + 3 + 0) / 4 */
  }
}

static void reduce_and_count_body(int32_t rank, void* user) {
  rank_state* self = &((job*)user)->ranks[rank];
  reduce_in_place_body(rank, user);
  record(&self->out, gradstep_reducer_comm_stats(self->reducer, &self->stats));
}

static void a_window_costs_one_all_reduce_per_bucket(void** state) {
  job* j = *state;
  gradstep_comm_statistics before;
  run_all(j, create_body);
  run_all(j, reduce_and_count_body);
  before = j->ranks[0].stats;
  run_all(j, reduce_and_count_body);
  assert_int_equal(j->ranks[0].stats.all_reduces - before.all_reduces, 1);
  assert_int_equal(j->ranks[0].stats.all_gathers - before.all_gathers, 0);
}

static void reduce_into_results_body(int32_t rank, void* user) {
  rank_state* self = &((job*)user)->ranks[rank];
  gradstep_tensor results[kModelParameters];
  memcpy(results, self->m.params, sizeof results); /* any buffers of the right shapes */
  record(&self->out, gradstep_reducer_reduce(self->reducer, self->m.gradients, results, kModelParameters, 1, NULL));
  record(&self->out, gradstep_reducer_comm_stats(self->reducer, &self->stats));
}

static void an_unused_parameter_is_left_alone_on_all_ranks(void** state) {
  job* j = *state;
  gradstep_comm_statistics before;
  for (int r = 0; r < kRanks; ++r) {
    j->ranks[r].m.parameters[1].flags = GRADSTEP_PARAMETER_MAY_BE_UNUSED;
    j->ranks[r].m.gradients[1].data = NULL;
  }
  run_all(j, create_body);
  assert_ok(gradstep_reducer_comm_stats(j->ranks[0].reducer, &j->ranks[0].stats));
  before = j->ranks[0].stats;
  run_all(j, reduce_into_results_body);
  assert_int_equal(j->ranks[0].stats.all_reduces - before.all_reduces, 2); /* one bucket, one control */
  for (int r = 0; r < kRanks; ++r) {
    gradstep_tensor views[kModelParameters];
    assert_ok(gradstep_reducer_gradients(j->ranks[r].reducer, views, kModelParameters, NULL));
    assert_non_null(views[0].data);
    assert_null(views[1].data);
    assert_true(j->ranks[r].m.values[0] == 2.5F / 8);
    assert_true(j->ranks[r].m.values[6] == 7 && j->ranks[r].m.values[8] == 9);
  }
}

static void ranks_that_disagree_on_the_schema_all_hear_of_it(void** state) {
  static const int64_t other_shape[] = {4};
  job* j = *state;
  j->ranks[2].m.parameters[1].shape = other_shape;
  run_ranks(kRanks, create_body, j);
  for (int r = 0; r < kRanks; ++r) {
    assert_int_equal(j->ranks[r].out.status, GRADSTEP_ERR_MISMATCH);
    assert_true(strlen(j->ranks[r].out.text) > 20);
    assert_null(j->ranks[r].reducer);
  }
}

static void out_of_turn_is_refused(void** state) {
  job* j = *state;
  gradstep_reducer* reducer = NULL;
  run_all(j, create_body);
  reducer = j->ranks[0].reducer;
  assert_ok(gradstep_reducer_begin(reducer, 1, NULL));
  assert_fails(gradstep_reducer_begin(reducer, 1, NULL), GRADSTEP_ERR_INVALID_STATE, "window");
  assert_ok(gradstep_reducer_push(reducer, 0, &j->ranks[0].m.gradients[0], NULL));
  assert_fails(gradstep_reducer_push(reducer, 0, &j->ranks[0].m.gradients[0], NULL), GRADSTEP_ERR_INVALID_STATE,
               "dense.weight");
  assert_fails(gradstep_reducer_push(reducer, 2, &j->ranks[0].m.gradients[0], NULL), GRADSTEP_ERR_INVALID_ARGUMENT,
               "index", "2");
  assert_fails(gradstep_reducer_push(reducer, 1, &j->ranks[0].m.gradients[0], NULL), GRADSTEP_ERR_INVALID_ARGUMENT,
               "dense.bias", "(3)");
  assert_fails(gradstep_reducer_reduce(reducer, j->ranks[0].m.gradients, NULL, kModelParameters, 1, NULL),
               GRADSTEP_ERR_INVALID_STATE, "window");
  assert_ok(gradstep_reducer_cancel(reducer));
  run_all(j, reduce_in_place_body); /* nothing had left: the ranks are still in step */
  assert_grads(j, 2.5F);
}

static void push_all(rank_state* self) {
  for (size_t i = 0; i < kModelParameters; ++i) {
    assert_ok(gradstep_reducer_push(self->reducer, i, &self->m.gradients[i], NULL));
  }
  memset(self->m.grads, 0, sizeof self->m.grads); /* what was pushed has been copied */
}

static void wait_body(int32_t rank, void* user) {
  rank_state* self = &((job*)user)->ranks[rank];
  record(&self->out, gradstep_reducer_wait(self->reducer, self->m.gradients, kModelParameters, NULL));
}

static void push_returns_before_the_peers_have_come(void** state) {
  job* j = *state;
  gradstep_bucket_statistics bucket;
  size_t count = 0;
  run_all(j, create_body);
  for (int r = 0; r < kRanks; ++r) push_all(&j->ranks[r]); /* one thread for all ranks */
  run_all(j, wait_body);
  assert_grads(j, 2.5F);
  memset(&bucket, 0, sizeof bucket);
  bucket.struct_size = sizeof bucket;
  assert_ok(gradstep_reducer_stats(j->ranks[0].reducer, &bucket, sizeof bucket, 1, &count));
  assert_int_equal(bucket.exchanges, 1);
  assert_true(bucket.exchange_nanoseconds > 0);
  assert_true(bucket.wait_nanoseconds >= 0);
}

static int32_t poll(const rank_state* self) {
  int32_t done = -1;
  assert_ok(gradstep_reducer_poll(self->reducer, &done));
  return done;
}

static void await_done(const rank_state* self) {
  const int64_t begin = now_ms();
  while (poll(self) == 0) assert_true(now_ms() - begin <= 20000);
}

static void poll_tells_when_the_buckets_that_have_left_are_exchanged(void** state) {
  job* j = *state;
  run_all(j, create_body);
  assert_int_equal(poll(&j->ranks[0]), 1); /* nothing has left yet */
  push_all(&j->ranks[0]);
  for (int i = 0; i < 100; ++i) assert_int_equal(poll(&j->ranks[0]), 0);
  for (int r = 1; r < kRanks; ++r) push_all(&j->ranks[r]);
  for (int r = 0; r < kRanks; ++r) await_done(&j->ranks[r]);
  run_all(j, wait_body);
  assert_grads(j, 2.5F);
  assert_int_equal(poll(&j->ranks[0]), 1);
  assert_fails(gradstep_reducer_poll(j->ranks[0].reducer, NULL), GRADSTEP_ERR_INVALID_ARGUMENT, "done", "NULL");
}

static void an_exchange_that_failed_is_done_and_wait_tells_its_error(void** state) {
  job* j = *state;
  run_all(j, create_body);
  push_all(&j->ranks[0]);
  push_all(&j->ranks[1]);
  assert_ok(gradstep_reducer_cancel(j->ranks[1].reducer));
  await_done(&j->ranks[0]);
  await_done(&j->ranks[0]);
  wait_body(0, j);
  assert_outcome_fails(&j->ranks[0].out, GRADSTEP_ERR_PEER_LOST, "rank");
}

static void what_is_on_its_way_can_be_dropped(void** state) {
  job* j = *state;
  int64_t begin = 0;
  run_all(j, create_body);
  push_all(&j->ranks[0]);
  push_all(&j->ranks[1]);
  begin = now_ms();
  assert_ok(gradstep_reducer_cancel(j->ranks[0].reducer));
  gradstep_reducer_destroy(j->ranks[1].reducer);
  j->ranks[1].reducer = NULL;
  assert_true(now_ms() - begin <= 5000); /* a quarter of the timeout */
  wait_body(2, j);
  assert_outcome_fails(&j->ranks[2].out, GRADSTEP_ERR_PEER_LOST, "rank");
}

static void absent_rank_body(int32_t rank, void* user) {
  if (rank != 1) reduce_in_place_body(rank, user);
}

static void a_missing_peer_is_a_timeout_and_changes_nothing(void** state) {
  job* j = *state;
  int64_t begin = 0;
  for (int r = 0; r < kRanks; ++r) gradstep_comm_destroy(j->comms[r]);
  new_local_comms(j->context, kRanks, 2000, j->comms); /* enough for create on a busy machine */
  run_all(j, create_body);
  begin = now_ms();
  run_ranks(kRanks, absent_rank_body, j);
  assert_true(now_ms() - begin <= 3000);
  for (int r = 0; r < kRanks; ++r) {
    if (r == 1) continue;
    assert_true(j->ranks[r].out.status == GRADSTEP_ERR_TIMEOUT || j->ranks[r].out.status == GRADSTEP_ERR_PEER_LOST);
    for (int i = 0; i < kModelElements; ++i) {
      assert_true(j->ranks[r].m.grads[i] == (float)(r + 1) * (float)(i + 1) / 8);
    }
  }
}

static void bad_arguments_are_named(void** state) {
  job* j = *state;
  const gradstep_reducer_options defaults = j->ranks[0].options;
  model* m = &j->ranks[0].m;
  gradstep_comm_options self_options;
  gradstep_comm* self_comm = NULL;
  gradstep_reducer* reducer = NULL;
  assert_ok(gradstep_comm_options_init(&self_options, sizeof self_options));
  self_options.engine = "self";
  assert_ok(gradstep_comm_create(j->context, &self_options, &self_comm));
  assert_true(defaults.fuse_threshold == 2097152);
#define REFUSED(field, bad_value, text)                                                                         \
  do {                                                                                                          \
    gradstep_reducer_options o = defaults;                                                                      \
    o.field = (bad_value);                                                                                      \
    assert_fails(gradstep_reducer_create(j->context, self_comm, &o, m->parameters, kModelParameters, &reducer), \
                 GRADSTEP_ERR_INVALID_ARGUMENT, #field, text);                                                  \
    assert_null(reducer);                                                                                       \
  } while (0)
  REFUSED(mode, -1, "-1");
  REFUSED(average, 4, "4");
  REFUSED(fuse_threshold, 0, "0");
  REFUSED(mode, 13, "13");
  REFUSED(control, 2, "2");
  REFUSED(bucket_elements, 5, "5");
  REFUSED(clip_value, -1, "-1");
  REFUSED(half_sum, 3, "3");
  REFUSED(residual, 2, "2");
  REFUSED(sparsity, NAN, "nan");
  REFUSED(selection, -1, "-1");
  REFUSED(nan_policy, 3, "3");
  REFUSED(sparse_exchange, 3, "3");
  REFUSED(error_feedback, 2, "2");
  REFUSED(momentum_correction, 1, "1");
  REFUSED(warmup_steps, -1, "-1");
  REFUSED(rank, 0, "0");
  REFUSED(candidates, 1 << GRADSTEP_REDUCER_ADASUM_TREE, "candidates");
#undef REFUSED
  assert_fails(gradstep_reducer_create(j->context, NULL, NULL, m->parameters, kModelParameters, &reducer),
               GRADSTEP_ERR_INVALID_ARGUMENT, "comm", "NULL");
  assert_ok(gradstep_reducer_create(j->context, self_comm, NULL, m->parameters, kModelParameters, &reducer));
  assert_fails(gradstep_reducer_reduce(reducer, m->gradients, NULL, 1, 1, NULL), GRADSTEP_ERR_INVALID_ARGUMENT, "grads",
               "2");
  assert_fails(gradstep_reducer_reduce(reducer, m->gradients, NULL, kModelParameters, -1, NULL),
               GRADSTEP_ERR_INVALID_ARGUMENT, "weight", "-1");
  m->gradients[1].ndim = 0;
  assert_fails(gradstep_reducer_reduce(reducer, m->gradients, NULL, kModelParameters, 1, NULL),
               GRADSTEP_ERR_INVALID_ARGUMENT, "grads[1]", "dense.bias");
  gradstep_reducer_destroy(reducer);
  gradstep_comm_destroy(self_comm);
}

/* Multiples of one gradient: the tree averages them, in every mode that keeps exact numbers exact. */
static void every_mode_reduces_to_the_same_bits_on_all_ranks(void** state) {
  job* j = *state;
  static const struct {
    int32_t mode;
    float factor; /* of rank 0's gradient, where it is known exactly; 0 elsewhere */
  } modes[] = {
      {GRADSTEP_REDUCER_DENSE, 2.5F},
      {GRADSTEP_REDUCER_HALF, 2.5F},
      {GRADSTEP_REDUCER_BFLOAT16, 2.5F},
      {GRADSTEP_REDUCER_SPARSE_TOPK, 2.5F},
      {GRADSTEP_REDUCER_SPARSE_THRESHOLD, 0},
      {GRADSTEP_REDUCER_ADASUM_TREE, 0},
      {GRADSTEP_REDUCER_ADASUM_NWAY, 0},
      {GRADSTEP_REDUCER_POWERSGD, 0},
      {GRADSTEP_REDUCER_AUTO, 0},
      {GRADSTEP_REDUCER_INT8, 0},
      {GRADSTEP_REDUCER_INT4, 0},
      {GRADSTEP_REDUCER_FP8_E4M3, 0},
      {GRADSTEP_REDUCER_FP8_E5M2, 0},
  };
  for (size_t k = 0; k < COUNT_OF(modes); ++k) {
    teardown(state);
    assert_int_equal(setup(state), 0);
    for (int r = 0; r < kRanks; ++r) {
      j->ranks[r].options.mode = modes[k].mode;
      j->ranks[r].options.sparsity = modes[k].mode == GRADSTEP_REDUCER_SPARSE_TOPK ? 1 : 0.5;
    }
    run_all(j, create_body);
    run_all(j, reduce_in_place_body);
    if (modes[k].factor != 0) assert_grads(j, modes[k].factor);
    for (int r = 1; r < kRanks; ++r) {
      assert_memory_equal(j->ranks[r].m.grads, j->ranks[0].m.grads, sizeof j->ranks[0].m.grads);
    }
  }
}

/* A third of nine elements 1/8 ... 9/8 is sent, the rest waits; r + 1 times that on rank r. */
static void what_is_not_sent_waits_in_the_residual(void** state) {
  job* j = *state;
  gradstep_tensor residual;
  gradstep_bucket_statistics bucket;
  size_t count = 0;
  for (int r = 0; r < kRanks; ++r) {
    j->ranks[r].options.mode = GRADSTEP_REDUCER_SPARSE_TOPK;
    j->ranks[r].options.average = GRADSTEP_AVERAGE_SUM;
    j->ranks[r].options.sparsity = 1.0 / 3;
  }
  run_all(j, create_body);
  run_all(j, reduce_in_place_body);
  for (int r = 0; r < kRanks; ++r) {
    rank_state* self = &j->ranks[r];
    for (int i = 0; i < kModelElements; ++i) {
      assert_true(self->m.grads[i] == (i < 6 ? 0 : 10 * (float)(i + 1) / 8));
    }
    assert_ok(gradstep_reducer_residual(self->reducer, 0, &residual));
    assert_int_equal(residual.ndim, 2);
    for (int i = 0; i < 6; ++i) {
      assert_true(((const float*)residual.data)[i] == (float)(r + 1) * (float)(i + 1) / 8);
    }
    assert_ok(gradstep_reducer_residual(self->reducer, 1, &residual));
    for (int i = 0; i < 3; ++i) assert_true(((const float*)residual.data)[i] == 0);
    memset(&bucket, 0, sizeof bucket);
    bucket.struct_size = sizeof bucket;
    assert_ok(gradstep_reducer_stats(self->reducer, &bucket, sizeof bucket, 1, &count));
    assert_int_equal(bucket.selected, 3);
    assert_int_equal(bucket.algorithm, GRADSTEP_EXCHANGE_SPARSE_GATHER);
  }
  assert_fails(gradstep_reducer_residual(j->ranks[0].reducer, 2, &residual), GRADSTEP_ERR_INVALID_ARGUMENT, "index",
               "2");
}

static void a_nan_fails_the_window_of_every_rank_and_changes_nothing(void** state) {
  job* j = *state;
  float before[kRanks][kModelElements];
  for (int r = 0; r < kRanks; ++r) j->ranks[r].options.mode = GRADSTEP_REDUCER_SPARSE_TOPK;
  run_all(j, create_body);
  j->ranks[2].m.grads[4] = NAN;
  for (int r = 0; r < kRanks; ++r) memcpy(before[r], j->ranks[r].m.grads, sizeof before[r]);
  run_ranks(kRanks, reduce_in_place_body, j);
  for (int r = 0; r < kRanks; ++r) {
    assert_outcome_fails(&j->ranks[r].out, GRADSTEP_ERR_NUMERIC, "rank 2");
    assert_memory_equal(j->ranks[r].m.grads, before[r], sizeof before[r]);
    memset(&j->ranks[r].out, 0, sizeof j->ranks[r].out);
  }
  j->ranks[2].m.grads[4] = 0; /* the channel still works */
  run_all(j, reduce_in_place_body);
}

/* One of nine elements is sent. What waits follows the loss scale; an infinite window leaves it as it was. */
static void what_waits_follows_the_loss_scale_and_outlives_an_infinite_window(void** state) {
  job* j = *state;
  gradstep_tensor residual;
  for (int r = 0; r < kRanks; ++r) {
    j->ranks[r].options.mode = GRADSTEP_REDUCER_SPARSE_TOPK;
    j->ranks[r].options.sparsity = 1.0 / 9;
  }
  run_all(j, create_body);
  for (int r = 0; r < kRanks; ++r) assert_ok(gradstep_reducer_set_loss_scale(j->ranks[r].reducer, 8));
  run_all(j, reduce_in_place_body);
  for (int r = 0; r < kRanks; ++r) assert_ok(gradstep_reducer_set_loss_scale(j->ranks[r].reducer, 4));
  for (int i = 0; i < kModelElements; ++i) j->ranks[1].m.grads[i] = INFINITY;
  run_all(j, reduce_in_place_body);
  for (int r = 0; r < kRanks; ++r) {
    assert_ok(gradstep_reducer_residual(j->ranks[r].reducer, 0, &residual));
    for (int i = 0; i < 6; ++i) {
      assert_true(((const float*)residual.data)[i] == (float)(r + 1) * (float)(i + 1) / 8 / 2);
    }
  }
  assert_fails(gradstep_reducer_set_loss_scale(j->ranks[0].reducer, 0), GRADSTEP_ERR_INVALID_ARGUMENT, "scale", "0");
  assert_fails(gradstep_reducer_set_loss_scale(j->ranks[0].reducer, HUGE_VAL), GRADSTEP_ERR_INVALID_ARGUMENT, "scale",
               "inf");
  assert_ok(gradstep_reducer_begin(j->ranks[0].reducer, 1, NULL));
  assert_fails(gradstep_reducer_set_loss_scale(j->ranks[0].reducer, 2), GRADSTEP_ERR_INVALID_STATE, "window", "");
}

static void adasum_takes_no_mean(void** state) {
  job* j = *state;
  j->ranks[0].options.mode = GRADSTEP_REDUCER_ADASUM_TREE;
  j->ranks[0].options.average = GRADSTEP_AVERAGE_MEAN;
  assert_fails(gradstep_reducer_create(j->context, j->comms[0], &j->ranks[0].options, j->ranks[0].m.parameters,
                                       kModelParameters, &j->ranks[0].reducer),
               GRADSTEP_ERR_INVALID_ARGUMENT, "average", "Adasum");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(mean_is_the_default),
      TEST(sum_and_weighted_mean),
      TEST(pushes_may_come_in_another_order_on_each_rank),
      TEST(views_and_norm_show_the_result_without_a_copy),
      TEST(streams_are_for_devices),
      TEST(an_absent_gradient_contributes_zeros),
      TEST(a_window_costs_one_all_reduce_per_bucket),
      TEST(an_unused_parameter_is_left_alone_on_all_ranks),
      TEST(ranks_that_disagree_on_the_schema_all_hear_of_it),
      TEST(out_of_turn_is_refused),
      TEST(push_returns_before_the_peers_have_come),
      TEST(poll_tells_when_the_buckets_that_have_left_are_exchanged),
      TEST(an_exchange_that_failed_is_done_and_wait_tells_its_error),
      TEST(what_is_on_its_way_can_be_dropped),
      TEST(a_missing_peer_is_a_timeout_and_changes_nothing),
      TEST(every_mode_reduces_to_the_same_bits_on_all_ranks),
      TEST(what_is_not_sent_waits_in_the_residual),
      TEST(a_nan_fails_the_window_of_every_rank_and_changes_nothing),
      TEST(what_waits_follows_the_loss_scale_and_outlives_an_infinite_window),
      TEST(adasum_takes_no_mean),
      TEST(bad_arguments_are_named),
  };
  return cmocka_run_group_tests_name("reducer", tests, NULL, NULL);
}
