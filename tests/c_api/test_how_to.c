/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What the pages of docs/how_to and docs/handles quote. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

/* Ends the body of a rank at its first failure, which the test then shows. */
#define CHECK(call)                          \
  do {                                       \
    if (!record(&self->out, (call))) return; \
  } while (0)

enum { kRanks = 3, kElements = 4 };

static const int64_t kShape[] = {kElements};

/* One parameter of four numbers, all 5 at first, and the handles of one rank. */
typedef struct rank_state {
  gradstep_context* context;
  gradstep_comm* comm;
  gradstep_parameter parameter;
  float weight[kElements];
  float gradient[kElements];
  gradstep_tensor params;
  gradstep_tensor grads;
  gradstep_optimizer* optimizer;
  gradstep_optimizer* outer;
  gradstep_accumulator* accumulator;
  gradstep_reducer* reducer;
  gradstep_updater* updater;
  double scale;
  FILE* log;
  outcome out;
} rank_state;

typedef struct job {
  rank_state ranks[kRanks];
  char store[64];
} job;

static int setup(void** state) {
  static job j;
  gradstep_context* context = new_context(1);
  memset(&j, 0, sizeof j);
  for (int r = 0; r < kRanks; ++r) {
    rank_state* self = &j.ranks[r];
    self->context = context;
    self->parameter = parameter_f32("weight", 1, kShape);
    self->params = tensor_f32(self->weight, 1, kShape);
    self->grads = tensor_f32(self->gradient, 1, kShape);
    for (int i = 0; i < kElements; ++i) self->weight[i] = 5;
  }
  *state = &j;
  return 0;
}

static int teardown(void** state) {
  job* j = *state;
  for (int r = 0; r < kRanks; ++r) {
    rank_state* self = &j->ranks[r];
    destroy_handles(self->updater, self->reducer, self->accumulator, self->optimizer, self->comm);
    gradstep_optimizer_destroy(self->outer);
  }
  gradstep_context_destroy(j->ranks[0].context);
  if (j->ranks[0].log != NULL) fclose(j->ranks[0].log);
  return 0;
}

/* Runs the body on connected ranks, each a thread of its own. */
static void run_connected(job* j, int32_t world_size, void (*body)(int32_t rank, void* user)) {
  gradstep_comm* comms[kRanks];
  new_local_comms(j->ranks[0].context, world_size, 20000, comms);
  for (int32_t r = 0; r < world_size; ++r) j->ranks[r].comm = comms[r];
  run_ranks(world_size, body, j);
  for (int32_t r = 0; r < world_size; ++r) assert_outcome_ok(&j->ranks[r].out);
}

static void run_alone(job* j, void (*body)(int32_t rank, void* user)) {
  body(0, j);
  assert_outcome_ok(&j->ranks[0].out);
}

static void set_gradient(rank_state* self, float a, float b, float c, float d) {
  const float values[kElements] = {a, b, c, d};
  memcpy(self->gradient, values, sizeof values);
}

static gradstep_status new_sgd(const rank_state* self, double learning_rate, gradstep_optimizer** sgd) {
  gradstep_sgd_options options;
  const gradstep_status status = gradstep_sgd_options_init(&options, sizeof options);
  if (status != GRADSTEP_OK) return status;
  options.learning_rate = learning_rate;
  return gradstep_optimizer_create_sgd(self->context, &options, &self->parameter, 1, sgd);
}

/* docs:begin context_log */
static void print_record(void* user, int32_t level, const char* text) {
  fprintf(user, "gradstep, level %d: %s\n", (int)level, text);
}
/* docs:end context_log */

static void context_body(int32_t rank, void* user) {
  rank_state* self = &((job*)user)->ranks[rank];
  FILE* file = self->log;
  /* docs:begin context */
  gradstep_context* context = NULL;
  gradstep_context_options options;
  CHECK(gradstep_context_options_init(&options, sizeof options));
  options.num_threads = 2; /* the caller and one more */
  options.log_level = GRADSTEP_LOG_WARNING;
  options.log = print_record;
  options.log_user = file; /* a FILE* that outlives the context */
  CHECK(gradstep_context_create(&options, &context));
  /* docs:end context */
  gradstep_context_destroy(self->context);
  self->context = context;
}

static void skip_body(int32_t rank, void* user) {
  rank_state* self = &((job*)user)->ranks[rank];
  gradstep_step_options options;
  CHECK(gradstep_step_options_init(&options, sizeof options));
  options.skip_nonfinite = 1;
  set_gradient(self, 1, 2, 3, INFINITY);
  CHECK(new_sgd(self, 1, &self->optimizer));
  CHECK(gradstep_optimizer_step_ex(self->optimizer, &self->params, &self->grads, NULL, 1, &options, NULL));
}

static void a_context_has_threads_and_a_log(void** state) {
  job* j = *state;
  j->ranks[0].log = tmpfile();
  assert_non_null(j->ranks[0].log);
  run_alone(j, context_body);
  run_alone(j, skip_body);
  assert_true(ftell(j->ranks[0].log) > 0);
}

static void scaler_body(int32_t rank, void* user) {
  rank_state* self = &((job*)user)->ranks[rank];
  gradstep_optimizer* optimizer = self->optimizer;
  double scale = self->scale;
  const gradstep_tensor* params = &self->params;
  const gradstep_tensor* grads = &self->grads;
  const size_t n = 1;
  /* docs:begin scaler */
  gradstep_step_result result = {.struct_size = sizeof result};
  gradstep_step_options options;
  CHECK(gradstep_step_options_init(&options, sizeof options));
  options.skip_nonfinite = 1;
  options.grad_scale = 1 / scale;
  options.max_norm = 100;
  options.result = &result;
  CHECK(gradstep_optimizer_step_ex(optimizer, params, grads, NULL, n, &options, NULL));
  if (!result.applied) scale /= 2; /* an overflow: nothing has changed */
  /* docs:end scaler */
  self->scale = scale;
}

static void an_overflow_skips_the_step_and_halves_the_scale(void** state) {
  static const float expected[kElements] = {4, 3, 5, 5};
  job* j = *state;
  rank_state* self = &j->ranks[0];
  self->scale = 1024;
  assert_ok(new_sgd(self, 1, &self->optimizer));
  set_gradient(self, 1024, 2048, 0, 0);
  run_alone(j, scaler_body);
  assert_true(self->scale == 1024);
  assert_memory_equal(self->weight, expected, sizeof expected);
  self->gradient[3] = INFINITY;
  run_alone(j, scaler_body);
  assert_true(self->scale == 512);
  assert_memory_equal(self->weight, expected, sizeof expected);
}

static void shard_body(int32_t rank, void* user) {
  rank_state* self = &((job*)user)->ranks[rank];
  gradstep_comm* comm = self->comm;
  const gradstep_tensor* params = &self->params;
  const gradstep_tensor* grads = &self->grads;
  const size_t n = 1;
  const float mean = (float)(1 + 2 * rank);
  gradstep_adam_options adam_options;
  gradstep_optimizer* adam = NULL;
  CHECK(gradstep_adam_options_init(&adam_options, sizeof adam_options));
  adam_options.learning_rate = 1;
  CHECK(gradstep_optimizer_create_adam(self->context, &adam_options, &self->parameter, 1, &adam));
  self->optimizer = adam;
  set_gradient(self, mean, mean, mean, mean);
  /* docs:begin shard */
  gradstep_sharding_options options;
  CHECK(gradstep_sharding_options_init(&options, sizeof options)); /* the ranks' own gradients, averaged in the step */
  CHECK(gradstep_optimizer_attach_comm(adam, comm, &options));     /* this rank's share of the state, from here on */
  CHECK(gradstep_optimizer_step(adam, params, grads, n, NULL));    /* collective: gathers the parameters, too */
  /* docs:end shard */
}

static void read_moment_body(int32_t rank, void* user) {
  rank_state* self = &((job*)user)->ranks[rank];
  const gradstep_tensor moment = tensor_f32(self->gradient, 1, kShape);
  CHECK(gradstep_optimizer_get_state(self->optimizer, 0, "exp_avg", &moment, NULL));
}

static void each_rank_keeps_a_share_of_the_state(void** state) {
  static const float weight[kElements] = {4, 4, 4, 4};
  static const float moment[kElements] = {0.2F, 0.2F, 0.2F, 0.2F}; /* 0.1 of the mean gradient, 2 */
  job* j = *state;
  run_connected(j, 2, shard_body);
  run_ranks(2, read_moment_body, j);
  for (int r = 0; r < 2; ++r) {
    assert_outcome_ok(&j->ranks[r].out);
    assert_near(j->ranks[r].weight, weight, kElements, 1e-6);
    assert_near(j->ranks[r].gradient, moment, kElements, 1e-6);
  }
}

static void adasum_body(int32_t rank, void* user) {
  rank_state* self = &((job*)user)->ranks[rank];
  gradstep_context* context = self->context;
  gradstep_comm* comm = self->comm;
  const gradstep_parameter* parameters = &self->parameter;
  const size_t n = 1;
  CHECK(new_sgd(self, 1, &self->optimizer));
  gradstep_optimizer* optimizer = self->optimizer;
  set_gradient(self, 1, rank == 0 ? 1.0F : 0.0F, rank == 0 ? -1.0F : 0.0F, 0);
  /* docs:begin adasum */
  gradstep_reducer_options options;
  gradstep_reducer* reducer = NULL;
  gradstep_updater* updater = NULL;
  CHECK(gradstep_reducer_options_init(&options, sizeof options));
  options.mode = GRADSTEP_REDUCER_ADASUM_TREE;
  CHECK(gradstep_reducer_create(context, comm, &options, parameters, n, &reducer));
  CHECK(gradstep_updater_create(context, optimizer, NULL, reducer, NULL, &updater));
  /* docs:end adasum */
  self->reducer = reducer;
  self->updater = updater;
  CHECK(gradstep_updater_push(updater, &self->params, &self->grads, 1, 1, NULL, NULL));
}

static void adasum_adds_what_ranks_do_not_agree_on(void** state) {
  /* a (1 - ab / 2 aa) + b (1 - ab / 2 bb) with ab = 1, aa = 3, bb = 1 */
  static const float expected[kElements] = {5 - 5.0F / 6 - 0.5F, 5 - 5.0F / 6, 5 + 5.0F / 6, 5};
  job* j = *state;
  run_connected(j, 2, adasum_body);
  for (int r = 0; r < 2; ++r) assert_near(j->ranks[r].weight, expected, kElements, 1e-6);
}

static void local_steps_body(int32_t rank, void* user) {
  rank_state* self = &((job*)user)->ranks[rank];
  gradstep_context* context = self->context;
  const float gradient = (float)(1 + 2 * rank);
  CHECK(new_sgd(self, 1, &self->optimizer));
  CHECK(new_sgd(self, 0.5, &self->outer));
  CHECK(gradstep_reducer_create(context, self->comm, NULL, &self->parameter, 1, &self->reducer));
  gradstep_optimizer* inner = self->optimizer;
  gradstep_optimizer* outer = self->outer;
  gradstep_reducer* reducer = self->reducer;
  set_gradient(self, gradient, gradient, gradient, gradient);
  /* docs:begin local_steps */
  gradstep_updater_options options;
  gradstep_updater* updater = NULL;
  CHECK(gradstep_updater_options_init(&options, sizeof options));
  options.sync = GRADSTEP_SYNC_DELTAS;
  options.sync_steps = 2;
  options.outer = outer; /* an optimizer of the same parameters */
  CHECK(gradstep_updater_create(context, inner, NULL, reducer, &options, &updater));
  /* docs:end local_steps */
  self->updater = updater;
  for (int step = 0; step < 2; ++step) {
    CHECK(gradstep_updater_push(updater, &self->params, &self->grads, 1, 1, NULL, NULL));
  }
}

static void rounds_of_local_steps_meet_an_outer_optimizer(void** state) {
  static const float expected[kElements] = {3, 3, 3, 3}; /* half of the mean change, which is 4 */
  job* j = *state;
  run_connected(j, 2, local_steps_body);
  for (int r = 0; r < 2; ++r) assert_memory_equal(j->ranks[r].weight, expected, sizeof expected);
}

static void remove_folder(const char* path) {
  char file[512];
  DIR* folder = opendir(path);
  assert_non_null(folder);
  for (const struct dirent* entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
    assert_int_equal(remove(file), 0);
  }
  assert_int_equal(closedir(folder), 0);
  assert_int_equal(rmdir(path), 0);
}

static void recover_body(int32_t rank, void* user) {
  job* j = user;
  rank_state* self = &j->ranks[rank];
  gradstep_context* context = self->context;
  const char* store = j->store;
  const gradstep_tensor* params = &self->params;
  const gradstep_tensor* grads = &self->grads;
  const size_t n = 1;
  CHECK(new_sgd(self, 1, &self->optimizer));
  CHECK(gradstep_accumulator_create(context, NULL, &self->parameter, 1, &self->accumulator));
  CHECK(gradstep_reducer_create(context, self->comm, NULL, &self->parameter, 1, &self->reducer));
  CHECK(gradstep_updater_create(context, self->optimizer, self->accumulator, self->reducer, NULL, &self->updater));
  gradstep_updater* updater = self->updater;
  set_gradient(self, 1, 2, 3, 4);
  if (rank == 2) { /* its handles are gone: the others lose a peer */
    gradstep_updater_destroy(self->updater);
    gradstep_reducer_destroy(self->reducer);
    gradstep_comm_destroy(self->comm);
    self->updater = NULL;
    self->reducer = NULL;
    self->comm = NULL;
    return;
  }
  /* docs:begin recover */
  gradstep_status status = gradstep_updater_push(updater, params, grads, n, 1, NULL, NULL); /* ends the window */
  if (status == GRADSTEP_ERR_PEER_LOST || status == GRADSTEP_ERR_TIMEOUT) {
    gradstep_comm_options network;
    gradstep_comm* left = NULL;
    CHECK(gradstep_comm_options_init(&network, sizeof network));
    network.engine = "auto";
    network.rank = rank; /* ranks 0 and 1 are left, which is your launcher's to know */
    network.world_size = 2;
    network.store_path = store;
    network.generation = 1; /* another number for each communicator */
    CHECK(gradstep_comm_create(context, &network, &left));
    CHECK(gradstep_updater_recover(updater, left, params, n, NULL));
    status = gradstep_updater_flush(updater, params, n, NULL, NULL); /* finishes the window, or finds it finished */
    gradstep_comm_destroy(left);
  }
  CHECK(status);
  /* docs:end recover */
}

static void survivors_of_a_lost_rank_go_on(void** state) {
  static const float expected[kElements] = {4, 3, 2, 1};
  job* j = *state;
  snprintf(j->store, sizeof j->store, "/tmp/gradstep_how_to_XXXXXX");
  assert_non_null(mkdtemp(j->store));
  run_connected(j, kRanks, recover_body);
  for (int r = 0; r < 2; ++r) assert_memory_equal(j->ranks[r].weight, expected, sizeof expected);
  remove_folder(j->store);
}

static void launched_body(int32_t rank, void* user) {
  rank_state* self = &((job*)user)->ranks[rank];
  gradstep_context* context = self->context;
  /* docs:begin launched */
  gradstep_comm* comm = NULL;
  CHECK(gradstep_comm_create(context, NULL, &comm)); /* the ranks that the launcher has started */
  CHECK(gradstep_comm_barrier(comm));
  /* docs:end launched */
  self->comm = comm;
}

static void a_launcher_says_the_rank(void** state) {
  static const char* const names[] = {"RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"};
  job* j = *state;
  int32_t world_size = 0;
  for (size_t i = 0; i < COUNT_OF(names); ++i) assert_int_equal(unsetenv(names[i]), 0);
  assert_int_equal(setenv("PMI_RANK", "0", 1), 0);
  assert_int_equal(setenv("PMI_SIZE", "1", 1), 0);
  run_alone(j, launched_body);
  assert_ok(gradstep_comm_world_size(j->ranks[0].comm, &world_size));
  assert_int_equal(world_size, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_context_has_threads_and_a_log),
      TEST(an_overflow_skips_the_step_and_halves_the_scale),
      TEST(each_rank_keeps_a_share_of_the_state),
      TEST(adasum_adds_what_ranks_do_not_agree_on),
      TEST(rounds_of_local_steps_meet_an_outer_optimizer),
      TEST(survivors_of_a_lost_rank_go_on),
      TEST(a_launcher_says_the_rank),
  };
  return cmocka_run_group_tests_name("how_to", tests, NULL, NULL);
}
