/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/* state.h: through a host's stream and through files; what is refused leaves everything as it was. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory_stream.h"
#include "optimizer_fixture.h"

static memory kept, damaged;

static void save_to(fixture* f, memory* m) {
  gradstep_stream stream;
  memset(m, 0, sizeof *m);
  stream = stream_over(m);
  assert_ok(gradstep_optimizer_save(f->optimizer, &stream));
  assert_int_equal(m->releases, 1);
}

static void a_run_resumes_from_a_stream(void** state) {
  fixture* f = *state;
  model middle;
  float end[kModelElements];
  gradstep_stream stream;
  create_adam(f);
  step(f);
  step(f);
  save_to(f, &kept);
  middle = f->m;
  step(f);
  memcpy(end, f->m.values, sizeof end);
  create_adam(f);
  memcpy(f->m.values, middle.values, sizeof middle.values);
  stream = stream_over(&kept);
  assert_ok(gradstep_optimizer_load(f->optimizer, &stream, NULL));
  assert_int_equal(kept.releases, 2);
  assert_int_equal(steps_of(f), 2);
  step(f);
  assert_memory_equal(f->m.values, end, sizeof end);
}

static void a_file_is_replaced_as_a_whole(void** state) {
  char path[] = "/tmp/gradstep_state_XXXXXX";
  char text[64];
  fixture* f = *state;
  const int descriptor = mkstemp(path);
  FILE* file;
  assert_true(descriptor >= 0);
  assert_int_equal(write(descriptor, "old", 3), 3);
  close(descriptor);
  create_adam(f);
  assert_fails(gradstep_optimizer_load_file(f->optimizer, path, NULL), GRADSTEP_ERR_CORRUPT, "3 bytes");
  assert_fails(gradstep_optimizer_save_file(f->optimizer, "/nonexistent/x"), GRADSTEP_ERR_IO, "/nonexistent/x",
               "No such file");
  assert_fails(gradstep_optimizer_save_file(f->optimizer, NULL), GRADSTEP_ERR_INVALID_ARGUMENT, "path", "NULL");
  assert_fails(gradstep_optimizer_save_file(f->optimizer, ""), GRADSTEP_ERR_INVALID_ARGUMENT, "path", "empty");
  file = fopen(path, "rb");
  assert_int_equal(fread(text, 1, sizeof text, file), 3);
  fclose(file);
  step(f);
  assert_ok(gradstep_optimizer_save_file(f->optimizer, path));
  create_adam(f);
  assert_ok(gradstep_optimizer_load_file(f->optimizer, path, NULL));
  assert_int_equal(steps_of(f), 1);
  assert_int_equal(unlink(path), 0);
  assert_fails(gradstep_optimizer_load_file(f->optimizer, path, NULL), GRADSTEP_ERR_IO, path, "No such file");
}

static gradstep_status load_damaged(fixture* f) {
  const gradstep_stream stream = stream_over(&damaged);
  return gradstep_optimizer_load(f->optimizer, &stream, NULL);
}

static void nothing_damaged_is_taken(void** state) {
  fixture* f = *state;
  size_t i;
  create_adam(f);
  step(f);
  save_to(f, &kept);
  create_adam(f);
  for (i = 0; i < kept.size; ++i) {
    damaged = kept;
    damaged.size = i;
    assert_fails(load_damaged(f), GRADSTEP_ERR_CORRUPT, "damaged");
    damaged = kept;
    damaged.bytes[i] ^= (char)(1 << (i % 8));
    assert_fails(load_damaged(f), GRADSTEP_ERR_CORRUPT, "damaged");
    assert_int_equal(damaged.releases, kept.releases + 1);
  }
  assert_int_equal(steps_of(f), 0);
}

static void other_handles_and_models_are_refused(void** state) {
  fixture* f = *state;
  gradstep_accumulator* accumulator = NULL;
  gradstep_accumulator_options options;
  gradstep_stream stream;
  create_sgd(f);
  save_to(f, &kept);
  create_adam(f);
  stream = stream_over(&kept);
  assert_fails(gradstep_optimizer_load(f->optimizer, &stream, NULL), GRADSTEP_ERR_MISMATCH, "sgd", "adam");
  assert_ok(gradstep_accumulator_options_init(&options, sizeof options));
  options.steps = 2;
  assert_ok(gradstep_accumulator_create(f->context, &options, f->m.parameters, kModelParameters, &accumulator));
  stream = stream_over(&kept);
  assert_fails(gradstep_accumulator_load(accumulator, &stream, NULL), GRADSTEP_ERR_MISMATCH, "'optimizer'",
               "'accumulator'");
  f->m.parameters[1].name = "dense.offset";
  create_sgd(f);
  f->sgd.momentum = 0.5;
  create_sgd(f);
  stream = stream_over(&kept);
  assert_fails(gradstep_optimizer_load(f->optimizer, &stream, NULL), GRADSTEP_ERR_MISMATCH, "dense.offset");
  gradstep_accumulator_destroy(accumulator);
}

static void a_window_is_saved_in_its_middle(void** state) {
  fixture* f = *state;
  gradstep_accumulator* accumulators[2] = {NULL, NULL};
  gradstep_accumulator_options options;
  gradstep_tensor views[2][kModelParameters];
  gradstep_stream stream;
  int32_t ready = 0;
  int i;
  assert_ok(gradstep_accumulator_options_init(&options, sizeof options));
  options.steps = 2;
  for (i = 0; i < 2; ++i) {
    assert_ok(gradstep_accumulator_create(f->context, &options, f->m.parameters, kModelParameters, &accumulators[i]));
  }
  assert_ok(gradstep_accumulator_add(accumulators[0], f->m.gradients, kModelParameters, 1, NULL, &ready));
  memset(&kept, 0, sizeof kept);
  stream = stream_over(&kept);
  assert_ok(gradstep_accumulator_save(accumulators[0], &stream));
  stream = stream_over(&kept);
  assert_ok(gradstep_accumulator_load(accumulators[1], &stream, NULL));
  for (i = 0; i < 2; ++i) {
    assert_ok(gradstep_accumulator_add(accumulators[i], f->m.gradients, kModelParameters, 1, NULL, &ready));
    assert_int_equal(ready, 1);
    assert_ok(gradstep_accumulator_gradients(accumulators[i], views[i], kModelParameters, NULL));
  }
  assert_memory_equal(views[0][0].data, views[1][0].data, 6 * sizeof(float));
  for (i = 0; i < 2; ++i) gradstep_accumulator_destroy(accumulators[i]);
}

static void chains_are_saved_with_all_their_parts(void** state) {
  fixture* f = *state;
  gradstep_comm* comm = NULL;
  gradstep_reducer* reducer = NULL;
  gradstep_updater* updater = NULL;
  gradstep_stream stream;
  int32_t applied = 0;
  create_adam(f);
  assert_ok(gradstep_comm_create_local(f->context, 1, &comm));
  assert_ok(gradstep_reducer_create(f->context, comm, NULL, f->m.parameters, kModelParameters, &reducer));
  assert_ok(gradstep_updater_create(f->context, f->optimizer, NULL, reducer, NULL, &updater));
  assert_ok(gradstep_updater_push(updater, f->m.params, f->m.gradients, kModelParameters, 1, NULL, &applied));
  memset(&kept, 0, sizeof kept);
  stream = stream_over(&kept);
  assert_ok(gradstep_updater_save(updater, &stream));
  assert_ok(gradstep_optimizer_set_step_count(f->optimizer, 9));
  stream = stream_over(&kept);
  assert_ok(gradstep_updater_load(updater, &stream, NULL));
  assert_int_equal(steps_of(f), 1);
  memset(&kept, 0, sizeof kept);
  stream = stream_over(&kept);
  assert_ok(gradstep_reducer_save(reducer, &stream));
  stream = stream_over(&kept);
  assert_ok(gradstep_reducer_load(reducer, &stream, NULL));
  assert_ok(gradstep_reducer_push(reducer, 1, &f->m.gradients[1], NULL));
  stream = stream_over(&kept);
  assert_fails(gradstep_reducer_save(reducer, &stream), GRADSTEP_ERR_INVALID_STATE, "pending");
  assert_int_equal(kept.releases, 3);
  gradstep_updater_destroy(updater);
  gradstep_reducer_destroy(reducer);
  gradstep_comm_destroy(comm);
}

static void a_stream_that_fails_is_quoted(void** state) {
  fixture* f = *state;
  gradstep_stream stream;
  gradstep_load_options options;
  create_adam(f);
  memset(&kept, 0, sizeof kept);
  kept.fail_after = 500;
  stream = stream_over(&kept);
  assert_fails(gradstep_optimizer_save(f->optimizer, &stream), GRADSTEP_ERR_CALLBACK, "stream.write", "GRADSTEP_ERR_IO",
               "the disk of this host is full");
  assert_int_equal(kept.releases, 1);
  save_to(f, &kept);
  kept.fail_after = 200;
  stream = stream_over(&kept);
  assert_fails(gradstep_optimizer_load(f->optimizer, &stream, NULL), GRADSTEP_ERR_CALLBACK, "stream.read");
  assert_int_equal(kept.releases, 2);
  stream.write = NULL;
  assert_fails(gradstep_optimizer_save(f->optimizer, &stream), GRADSTEP_ERR_INVALID_ARGUMENT, "stream.write", "NULL");
  stream.read = NULL;
  assert_fails(gradstep_optimizer_load(f->optimizer, &stream, NULL), GRADSTEP_ERR_INVALID_ARGUMENT, "stream.read",
               "NULL");
  assert_fails(gradstep_optimizer_save(f->optimizer, NULL), GRADSTEP_ERR_INVALID_ARGUMENT, "stream", "NULL");
  assert_fails(gradstep_optimizer_save(NULL, &stream), GRADSTEP_ERR_INVALID_ARGUMENT, "optimizer", "NULL");
  assert_int_equal(kept.releases, 5);
  assert_ok(gradstep_load_options_init(&options, sizeof options));
  assert_int_equal(options.allow_unchecked, 0);
}

typedef struct lost_job {
  fixture* f;
  gradstep_comm* comms[2];
  gradstep_optimizer* optimizers[2];
  outcome out[2];
} lost_job;

static void shard_body(int32_t rank, void* user) {
  lost_job* job = user;
  record(&job->out[rank], gradstep_optimizer_attach_comm(job->optimizers[rank], job->comms[rank], NULL));
}

static void a_lost_state_is_neither_saved_nor_read(void** state) {
  fixture* f = *state;
  lost_job job;
  float values[kModelElements];
  gradstep_tensor tensor = tensor_f32(values, 2, f->m.params[0].shape);
  gradstep_tensor view;
  gradstep_stream stream;
  int r;
  memset(&job, 0, sizeof job);
  create_adam(f);
  step(f);
  save_to(f, &kept);
  new_local_comms(f->context, 2, 200, job.comms);
  for (r = 0; r < 2; ++r) {
    assert_ok(
        gradstep_optimizer_create_adam(f->context, &f->adam, f->m.parameters, kModelParameters, &job.optimizers[r]));
  }
  run_ranks(2, shard_body, &job);
  for (r = 0; r < 2; ++r) assert_outcome_ok(&job.out[r]);
  /* Rank 1 never comes. */
  assert_fails(gradstep_optimizer_step(job.optimizers[0], f->m.params, f->m.gradients, kModelParameters, NULL),
               GRADSTEP_ERR_TIMEOUT, "");
  for (r = 0; r < 2; ++r) { /* still sharded; then with the rest of the state gone */
    if (r == 1) assert_ok(gradstep_optimizer_attach_comm(job.optimizers[0], NULL, NULL));
    damaged.size = 0;
    stream = stream_over(&damaged);
    assert_fails(gradstep_optimizer_save(job.optimizers[0], &stream), GRADSTEP_ERR_INVALID_STATE, "load");
    assert_int_equal(damaged.size, 0);
    assert_fails(gradstep_optimizer_get_state(job.optimizers[0], 0, "exp_avg", &tensor, NULL),
                 GRADSTEP_ERR_INVALID_STATE, "load");
    assert_fails(gradstep_optimizer_state(job.optimizers[0], 0, "exp_avg", &view), GRADSTEP_ERR_INVALID_STATE, "load");
    assert_fails(gradstep_optimizer_copy_state(f->optimizer, job.optimizers[0]), GRADSTEP_ERR_INVALID_STATE, "load");
  }
  assert_int_equal(steps_of(f), 1);
  stream = stream_over(&kept);
  assert_ok(gradstep_optimizer_load(job.optimizers[0], &stream, NULL));
  assert_ok(gradstep_optimizer_get_state(job.optimizers[0], 0, "exp_avg", &tensor, NULL));
  assert_ok(gradstep_optimizer_state(f->optimizer, 0, "exp_avg", &view));
  assert_memory_equal(values, view.data, 6 * sizeof(float));
  for (r = 0; r < 2; ++r) {
    gradstep_optimizer_destroy(job.optimizers[r]);
    gradstep_comm_destroy(job.comms[r]);
  }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_run_resumes_from_a_stream),     TEST(a_file_is_replaced_as_a_whole),
      TEST(nothing_damaged_is_taken),        TEST(other_handles_and_models_are_refused),
      TEST(a_window_is_saved_in_its_middle), TEST(chains_are_saved_with_all_their_parts),
      TEST(a_stream_that_fails_is_quoted),   TEST(a_lost_state_is_neither_saved_nor_read),
  };
  return cmocka_run_group_tests_name("state", tests, NULL, NULL);
}
