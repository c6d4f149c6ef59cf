/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Communicators through the public functions: self, local (one thread per rank) and host, here a host that lends a
 * local communicator's own collectives. Values are small integers, so that sums are exact. */
#include <string.h>

#include "support.h"

enum { kRanks = 3, kElements = 6 };

static const int64_t kShape[] = {kElements};
static const int64_t kGathered[] = {kRanks * kElements};
static const int64_t kBlock[] = {kElements / kRanks};

typedef struct job {
  gradstep_comm* comms[kRanks];
  outcome outcomes[kRanks];
  float values[kRanks][kElements];
  float gathered[kRanks][kRanks * kElements];
  int32_t numbers[kRanks];
} job;

/* values[r][i] = 10 r + i */
static void job_init(job* j) {
  memset(j->outcomes, 0, sizeof j->outcomes);
  for (int r = 0; r < kRanks; ++r) {
    for (int i = 0; i < kElements; ++i) j->values[r][i] = (float)(10 * r + i);
  }
}

static void close_comms(job* j) {
  for (int r = 0; r < kRanks; ++r) {
    gradstep_comm_destroy(j->comms[r]);
    j->comms[r] = NULL;
  }
}

static void assert_outcomes_ok(const job* j) {
  for (int r = 0; r < kRanks; ++r) assert_outcome_ok(&j->outcomes[r]);
}

static void reduce_body(int32_t rank, void* user) {
  job* j = user;
  gradstep_tensor tensor = tensor_f32(j->values[rank], 1, kShape);
  record(&j->outcomes[rank], gradstep_comm_all_reduce(j->comms[rank], &tensor, GRADSTEP_REDUCE_SUM, NULL));
}

static void gather_body(int32_t rank, void* user) {
  job* j = user;
  const gradstep_tensor input = tensor_f32(j->values[rank], 1, kShape);
  const gradstep_tensor output = tensor_f32(j->gathered[rank], 1, kGathered);
  record(&j->outcomes[rank], gradstep_comm_all_gather(j->comms[rank], &input, &output, NULL));
}

static void scatter_body(int32_t rank, void* user) {
  job* j = user;
  const gradstep_tensor input = tensor_f32(j->values[rank], 1, kShape);
  const gradstep_tensor output = tensor_f32(j->gathered[rank], 1, kBlock);
  record(&j->outcomes[rank], gradstep_comm_reduce_scatter(j->comms[rank], &input, &output, GRADSTEP_REDUCE_MAX, NULL));
}

static void broadcast_body(int32_t rank, void* user) {
  job* j = user;
  const gradstep_tensor tensor = tensor_f32(j->values[rank], 1, kShape);
  record(&j->outcomes[rank], gradstep_comm_broadcast(j->comms[rank], &tensor, 1, NULL));
}

static void vote_body(int32_t rank, void* user) {
  job* j = user;
  record(&j->outcomes[rank], gradstep_comm_barrier(j->comms[rank]));
  record(&j->outcomes[rank], gradstep_comm_vote(j->comms[rank], rank != 1, &j->numbers[rank]));
}

static void shift_body(int32_t rank, void* user) {
  job* j = user;
  const gradstep_tensor mine = tensor_f32(j->values[rank], 1, kShape);
  const gradstep_tensor theirs = tensor_f32(j->gathered[rank], 1, kShape);
  const int32_t next = (rank + 1) % kRanks, previous = (rank + kRanks - 1) % kRanks;
  if (rank == 0) {
    record(&j->outcomes[rank], gradstep_comm_send(j->comms[rank], &mine, next, NULL));
    record(&j->outcomes[rank], gradstep_comm_recv(j->comms[rank], &theirs, previous, NULL));
  } else {
    record(&j->outcomes[rank], gradstep_comm_recv(j->comms[rank], &theirs, previous, NULL));
    record(&j->outcomes[rank], gradstep_comm_send(j->comms[rank], &mine, next, NULL));
  }
}

static void run_collectives(job* j) {
  job_init(j);
  run_ranks(kRanks, reduce_body, j);
  assert_outcomes_ok(j);
  for (int r = 0; r < kRanks; ++r) {
    for (int i = 0; i < kElements; ++i) assert_true(j->values[r][i] == (float)(30 + 3 * i));
  }
  job_init(j);
  run_ranks(kRanks, gather_body, j);
  assert_outcomes_ok(j);
  for (int r = 0; r < kRanks; ++r) assert_memory_equal(j->gathered[r], j->values, sizeof j->values);
  run_ranks(kRanks, scatter_body, j);
  assert_outcomes_ok(j);
  for (int r = 0; r < kRanks; ++r) assert_true(j->gathered[r][0] == (float)(20 + 2 * r));
  run_ranks(kRanks, broadcast_body, j);
  assert_outcomes_ok(j);
  for (int r = 0; r < kRanks; ++r) assert_true(j->values[r][2] == 12);
  run_ranks(kRanks, vote_body, j);
  assert_outcomes_ok(j);
  for (int r = 0; r < kRanks; ++r) assert_int_equal(j->numbers[r], 0);
}

static void local_ranks_are_threads(void** state) {
  static job j;
  gradstep_context* context = new_context(1);
  (void)state;
  new_local_comms(context, kRanks, 20000, j.comms);
  for (int32_t r = 0; r < kRanks; ++r) {
    int32_t rank = -1, world_size = -1, local_rank = -1;
    assert_ok(gradstep_comm_rank(j.comms[r], &rank));
    assert_ok(gradstep_comm_world_size(j.comms[r], &world_size));
    assert_ok(gradstep_comm_local_rank(j.comms[r], &local_rank));
    assert_int_equal(rank, r);
    assert_int_equal(world_size, kRanks);
    assert_int_equal(local_rank, r);
  }
  run_collectives(&j);
  job_init(&j);
  run_ranks(kRanks, shift_body, &j);
  assert_outcomes_ok(&j);
  for (int r = 0; r < kRanks; ++r) assert_memory_equal(j.gathered[(r + 1) % kRanks], j.values[r], sizeof j.values[r]);
  close_comms(&j);
  gradstep_context_destroy(context);
}

/* Ranks that meet through the id; elsewhere they are processes, here threads play them. */
typedef struct shm_job {
  gradstep_context* context;
  const char* engine;
  char id[64];
  size_t id_len;
  job inner;
} shm_job;

static void create_shm_body(int32_t rank, void* user) {
  shm_job* s = user;
  gradstep_comm_options options;
  record(&s->inner.outcomes[rank], gradstep_comm_options_init(&options, sizeof options));
  options.engine = s->engine;
  options.rank = rank;
  options.world_size = kRanks;
  options.id = s->id;
  options.id_len = s->id_len;
  record(&s->inner.outcomes[rank], gradstep_comm_create(s->context, &options, &s->inner.comms[rank]));
}

static void ranks_share_memory(const char* engine) {
  static shm_job s;
  char name[16];
  job_init(&s.inner);
  s.context = new_context(1);
  s.engine = engine;
  assert_ok(gradstep_comm_unique_id_ex(engine, "127.0.0.1", s.id, sizeof s.id, &s.id_len));
  run_ranks(kRanks, create_shm_body, &s);
  assert_outcomes_ok(&s.inner);
  assert_ok(gradstep_comm_engine(s.inner.comms[0], name, sizeof name, NULL));
  assert_string_equal(name, "shm");
  run_collectives(&s.inner);
  job_init(&s.inner);
  run_ranks(kRanks, shift_body, &s.inner);
  assert_outcomes_ok(&s.inner);
  close_comms(&s.inner);
  gradstep_context_destroy(s.context);
}

static void shm_ranks_share_memory(void** state) {
  (void)state;
  ranks_share_memory("shm");
}

static void auto_takes_shared_memory_on_one_machine(void** state) {
  (void)state;
  ranks_share_memory("auto");
}

/* A host engine that has an all_gather and nothing else. */
typedef struct host_rank {
  gradstep_comm* lent;
  int released;
  int gathers;
  gradstep_status health; /* what its poll says */
} host_rank;

static gradstep_status lent_all_gather(void* user, const void* send, void* receive, int64_t bytes, void* stream,
                                       int64_t timeout_ms) {
  const gradstep_dtype byte = {GRADSTEP_TYPE_UINT, 8, 1};
  int32_t world_size = 0;
  host_rank* self = user;
  gradstep_tensor input = tensor_of(receive, byte, 1, &bytes);
  gradstep_tensor output = input;
  int64_t total = 0;
  (void)timeout_ms;
  ++self->gathers;
  if (gradstep_comm_world_size(self->lent, &world_size) != GRADSTEP_OK) return GRADSTEP_ERR_CALLBACK;
  total = bytes * world_size;
  memcpy(&input.data, &send, sizeof send);
  output.shape = &total;
  return gradstep_comm_all_gather(self->lent, &input, &output, stream);
}

static gradstep_status poll_host_rank(void* user) {
  const host_rank* self = user;
  if (self->health != GRADSTEP_OK) gradstep_set_last_error("the link went down");
  return self->health;
}

static void release_host_rank(void* user) { ++((host_rank*)user)->released; }

typedef struct host_job {
  gradstep_context* context;
  host_rank hosts[kRanks];
  job inner;
} host_job;

static void create_host_body(int32_t rank, void* user) {
  host_job* h = user;
  gradstep_comm_vtable vtable;
  memset(&vtable, 0, sizeof vtable);
  vtable.struct_size = sizeof vtable;
  vtable.rank = rank;
  vtable.world_size = kRanks;
  vtable.all_gather = lent_all_gather;
  vtable.poll = poll_host_rank;
  vtable.release = release_host_rank;
  record(&h->inner.outcomes[rank],
         gradstep_comm_create_host(h->context, &vtable, &h->hosts[rank], &h->inner.comms[rank]));
}

static void create_hosts(host_job* h) {
  gradstep_comm* lent[kRanks];
  h->context = new_context(1);
  new_local_comms(h->context, kRanks, 20000, lent);
  for (int r = 0; r < kRanks; ++r) h->hosts[r].lent = lent[r];
  run_ranks(kRanks, create_host_body, h);
  assert_outcomes_ok(&h->inner);
}

static void destroy_hosts(host_job* h) {
  close_comms(&h->inner);
  for (int r = 0; r < kRanks; ++r) {
    assert_int_equal(h->hosts[r].released, 1);
    gradstep_comm_destroy(h->hosts[r].lent);
  }
  gradstep_context_destroy(h->context);
}

static void a_host_with_all_gather_alone_serves_every_collective(void** state) {
  static host_job h;
  (void)state;
  create_hosts(&h);
  run_collectives(&h.inner);
  destroy_hosts(&h);
}

static void an_error_that_a_host_tells_by_poll_ends_the_next_call_in_its_stead(void** state) {
  static host_job h;
  int gathers[kRanks];
  (void)state;
  create_hosts(&h);
  run_ranks(kRanks, vote_body, &h.inner);
  assert_outcomes_ok(&h.inner);
  for (int r = 0; r < kRanks; ++r) {
    gathers[r] = h.hosts[r].gathers;
    h.hosts[r].health = GRADSTEP_ERR_PEER_LOST;
  }
  for (int call = 0; call < 2; ++call) { /* the first breaks the communicator, the second finds it broken */
    run_ranks(kRanks, vote_body, &h.inner);
    for (int r = 0; r < kRanks; ++r) {
      assert_outcome_fails(&h.inner.outcomes[r], GRADSTEP_ERR_PEER_LOST, "poll: the link went down");
      assert_int_equal(h.hosts[r].gathers, gathers[r]);
    }
    memset(h.inner.outcomes, 0, sizeof h.inner.outcomes);
    for (int r = 0; r < kRanks; ++r) h.hosts[r].health = GRADSTEP_OK;
  }
  destroy_hosts(&h);
}

static void failing_create_host_releases_once(void** state) {
  gradstep_context* context = new_context(1);
  gradstep_comm_vtable vtable;
  gradstep_comm* comm = NULL;
  host_rank host = {NULL, 0, 0, GRADSTEP_OK};
  (void)state;
  memset(&vtable, 0, sizeof vtable);
  vtable.struct_size = sizeof vtable;
  vtable.world_size = 1;
  vtable.release = release_host_rank;
  assert_fails(gradstep_comm_create_host(context, &vtable, &host, &comm), GRADSTEP_ERR_INVALID_ARGUMENT, "all_gather");
  assert_int_equal(host.released, 1);
  vtable.all_gather = lent_all_gather;
  vtable.rank = 1;
  assert_fails(gradstep_comm_create_host(context, &vtable, &host, &comm), GRADSTEP_ERR_INVALID_ARGUMENT, "rank", "1");
  assert_int_equal(host.released, 2);
  assert_fails(gradstep_comm_create_host(context, NULL, &host, &comm), GRADSTEP_ERR_INVALID_ARGUMENT, "vtable");
  assert_int_equal(host.released, 2);
  assert_null(comm);
  gradstep_context_destroy(context);
}

static void self_is_a_world_of_one(void** state) {
  gradstep_context* context = new_context(1);
  gradstep_comm_options options;
  gradstep_comm_statistics stats;
  gradstep_comm* comm = NULL;
  gradstep_comm* twin = NULL;
  float values[kElements] = {1, 2, 3, 4, 5, 6};
  const gradstep_tensor tensor = tensor_f32(values, 1, kShape);
  int32_t number = -1;
  (void)state;
  memset(&stats, 0, sizeof stats);
  stats.struct_size = sizeof stats;
  assert_ok(gradstep_comm_options_init(&options, sizeof options));
  options.engine = "self";
  assert_ok(gradstep_comm_create(context, &options, &comm));
  assert_ok(gradstep_comm_world_size(comm, &number));
  assert_int_equal(number, 1);
  assert_ok(gradstep_comm_all_reduce(comm, &tensor, GRADSTEP_REDUCE_SUM, NULL));
  assert_true(values[5] == 6);
  assert_ok(gradstep_comm_vote(comm, 1, &number));
  assert_int_equal(number, 1);
  assert_ok(gradstep_comm_stats(comm, &stats));
  assert_int_equal(stats.all_reduces >= 1, 1);
  assert_ok(gradstep_comm_dup(comm, &twin));
  gradstep_comm_destroy(comm);
  assert_ok(gradstep_comm_barrier(twin));
  gradstep_comm_destroy(twin);
  gradstep_context_destroy(context);
}

static void bad_arguments_are_named_and_break_nothing(void** state) {
  gradstep_context* context = new_context(1);
  gradstep_comm_options options;
  gradstep_comm* comm = NULL;
  float values[kElements] = {1, 2, 3, 4, 5, 6};
  const gradstep_tensor tensor = tensor_f32(values, 1, kShape);
  const gradstep_tensor shorter = tensor_f32(values, 1, kBlock);
  int32_t number = 0;
  gradstep_status status = -1;
  (void)state;
  assert_ok(gradstep_comm_options_init(&options, sizeof options));
  assert_true(options.timeout_ms == 30000);
  assert_fails(gradstep_comm_create(context, &options, &comm), GRADSTEP_ERR_INVALID_ARGUMENT, "engine");
  options.engine = "abacus";
  assert_fails(gradstep_comm_create(context, &options, &comm), GRADSTEP_ERR_INVALID_ARGUMENT, "engine", "abacus");
  options.engine = "self";
  options.world_size = 2;
  options.rank = 2;
  assert_fails(gradstep_comm_create(context, &options, &comm), GRADSTEP_ERR_INVALID_ARGUMENT, "rank");
  options.world_size = 1;
  options.rank = 0;
  options.timeout_ms = 0;
  assert_fails(gradstep_comm_create(context, &options, &comm), GRADSTEP_ERR_INVALID_ARGUMENT, "timeout_ms", "0");
  options.timeout_ms = 1000;
  assert_fails(gradstep_comm_create(context, &options, NULL), GRADSTEP_ERR_INVALID_ARGUMENT, "out");
  assert_fails(gradstep_comm_create_local(context, 0, &comm), GRADSTEP_ERR_INVALID_ARGUMENT, "world_size", "0");
  assert_fails(gradstep_comm_wrap_mpi(context, NULL, &comm), GRADSTEP_ERR_INVALID_ARGUMENT, "comm_address", "NULL");
  options.engine = "mpi";
  options.store_path = "/tmp";
  assert_fails(gradstep_comm_create(context, &options, &comm), GRADSTEP_ERR_INVALID_ARGUMENT, "store_path", "mpi");
  options.engine = "self";
  options.store_path = NULL;
  assert_null(comm);
  assert_ok(gradstep_comm_create(context, &options, &comm));
  assert_fails(gradstep_comm_all_reduce(comm, NULL, GRADSTEP_REDUCE_SUM, NULL), GRADSTEP_ERR_INVALID_ARGUMENT, "tensor",
               "NULL");
  assert_fails(gradstep_comm_all_reduce(comm, &tensor, 3, NULL), GRADSTEP_ERR_INVALID_ARGUMENT, "op", "3");
  assert_fails(gradstep_comm_all_gather(comm, &tensor, &shorter, NULL), GRADSTEP_ERR_INVALID_ARGUMENT, "output");
  assert_fails(gradstep_comm_broadcast(comm, &tensor, 1, NULL), GRADSTEP_ERR_INVALID_ARGUMENT, "root", "1");
  assert_fails(gradstep_comm_vote(comm, 1, NULL), GRADSTEP_ERR_INVALID_ARGUMENT, "all_yes");
  assert_fails(gradstep_comm_rank(NULL, &number), GRADSTEP_ERR_INVALID_ARGUMENT, "comm", "NULL");
  assert_ok(gradstep_comm_status(comm, &status, NULL, 0, NULL));
  assert_int_equal(status, GRADSTEP_OK);
  gradstep_comm_destroy(comm);
  gradstep_context_destroy(context);
}

static void unique_id_is_probed_before_it_is_made(void** state) {
  char id[8];
  size_t len = 0;
  (void)state;
  assert_fails(gradstep_comm_unique_id("abacus", NULL, 0, &len), GRADSTEP_ERR_INVALID_ARGUMENT, "engine", "abacus");
  assert_ok(gradstep_comm_unique_id("shm", NULL, 0, &len));
  assert_true(len > sizeof id);
  assert_fails(gradstep_comm_unique_id("shm", id, sizeof id, &len), GRADSTEP_ERR_INVALID_ARGUMENT, "cap", "8");
}

static void a_peer_that_does_not_come_is_a_timeout_for_good(void** state) {
  gradstep_context* context = new_context(1);
  gradstep_comm* comms[2];
  float values[kElements] = {0};
  const gradstep_tensor tensor = tensor_f32(values, 1, kShape);
  gradstep_status status = GRADSTEP_OK;
  char text[512];
  int64_t begin = 0;
  (void)state;
  new_local_comms(context, 2, 200, comms);
  begin = now_ms();
  assert_fails(gradstep_comm_all_reduce(comms[0], &tensor, GRADSTEP_REDUCE_SUM, NULL), GRADSTEP_ERR_TIMEOUT, "rank 1",
               "deadline");
  assert_true(now_ms() - begin <= 1200);
  begin = now_ms();
  assert_fails(gradstep_comm_barrier(comms[0]), GRADSTEP_ERR_TIMEOUT, "rank 1");
  assert_true(now_ms() - begin < 200);
  assert_ok(gradstep_comm_status(comms[0], &status, text, sizeof text, NULL));
  assert_int_equal(status, GRADSTEP_ERR_TIMEOUT);
  assert_non_null(strstr(text, "rank 1"));
  gradstep_comm_destroy(comms[0]);
  gradstep_comm_destroy(comms[1]);
  gradstep_context_destroy(context);
}

static void abort_or_wait_body(int32_t rank, void* user) {
  job* j = user;
  if (rank == 0) {
    record(&j->outcomes[0], gradstep_comm_barrier(j->comms[0]));
  } else {
    record(&j->outcomes[1], gradstep_comm_abort(j->comms[0]));
  }
}

static void abort_from_another_thread_ends_a_waiting_call(void** state) {
  static job j;
  gradstep_context* context = new_context(1);
  int64_t begin = now_ms();
  (void)state;
  new_local_comms(context, kRanks, 60000, j.comms);
  run_ranks(2, abort_or_wait_body, &j);
  assert_outcome_fails(&j.outcomes[0], GRADSTEP_ERR_ABORTED, "abort");
  assert_outcome_ok(&j.outcomes[1]);
  assert_true(now_ms() - begin < 30000);
  close_comms(&j);
  gradstep_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(self_is_a_world_of_one),
      cmocka_unit_test(local_ranks_are_threads),
      cmocka_unit_test(shm_ranks_share_memory),
      cmocka_unit_test(auto_takes_shared_memory_on_one_machine),
      cmocka_unit_test(a_host_with_all_gather_alone_serves_every_collective),
      cmocka_unit_test(an_error_that_a_host_tells_by_poll_ends_the_next_call_in_its_stead),
      cmocka_unit_test(failing_create_host_releases_once),
      cmocka_unit_test(bad_arguments_are_named_and_break_nothing),
      cmocka_unit_test(unique_id_is_probed_before_it_is_made),
      cmocka_unit_test(a_peer_that_does_not_come_is_a_timeout_for_good),
      cmocka_unit_test(abort_from_another_thread_ends_a_waiting_call),
  };
  return cmocka_run_group_tests_name("comm", tests, NULL, NULL);
}
