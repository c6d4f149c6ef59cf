/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * sharding.h: parameters that the host has spread over ranks. Rank 0 has the first row of the model's matrix, rank 1
 * the second, and both have its vector.
 */
#include <stdio.h>
#include <string.h>

#include "support.h"

enum { kRanks = 2, kColumns = 3, kOwn = 6 };

static const char* const kPath = "c_api_shards.safetensors";
static const int64_t kWhole[] = {2, 3};
static const int64_t kRow[] = {1, 3};

typedef struct rank_state {
  int64_t offset[2];
  gradstep_parameter parameters[kModelParameters];
  float values[kOwn];
  float grads[kOwn];
  gradstep_tensor params[kModelParameters];
  gradstep_tensor gradients[kModelParameters];
  gradstep_optimizer* optimizer;
  gradstep_optimizer* muon;
  float momentum[6]; /* of the whole */
  double grad_norm;
  outcome out;
} rank_state;

typedef struct job {
  gradstep_context* context;
  gradstep_comm* comms[kRanks];
  gradstep_optimizer* whole;
  model m;
  rank_state ranks[kRanks];
} job;

static void take_part(job* j, int r) {
  rank_state* self = &j->ranks[r];
  self->offset[0] = r;
  memcpy(self->parameters, j->m.parameters, sizeof self->parameters);
  self->parameters[0].shape = kRow;
  self->parameters[0].whole_shape = kWhole;
  self->parameters[0].offset = self->offset;
  memcpy(self->values, j->m.values + r * kColumns, kColumns * sizeof(float));
  memcpy(self->values + kColumns, j->m.values + 6, kColumns * sizeof(float));
  memcpy(self->grads, j->m.grads + r * kColumns, kColumns * sizeof(float));
  memcpy(self->grads + kColumns, j->m.grads + 6, kColumns * sizeof(float));
  self->params[0] = tensor_f32(self->values, 2, kRow);
  self->params[1] = tensor_f32(self->values + kColumns, 1, kRow + 1);
  self->gradients[0] = tensor_f32(self->grads, 2, kRow);
  self->gradients[1] = tensor_f32(self->grads + kColumns, 1, kRow + 1);
}

static gradstep_optimizer* new_adam(job* j, const gradstep_parameter* parameters) {
  gradstep_adam_options options;
  gradstep_optimizer* adam = NULL;
  assert_ok(gradstep_adam_options_init(&options, sizeof options));
  options.learning_rate = 0.125;
  assert_ok(gradstep_optimizer_create_adam(j->context, &options, parameters, kModelParameters, &adam));
  return adam;
}

static int setup(void** state) {
  static job j;
  memset(&j, 0, sizeof j);
  j.context = new_context(1);
  new_local_comms(j.context, kRanks, 20000, j.comms);
  model_init(&j.m);
  j.whole = new_adam(&j, j.m.parameters);
  for (int r = 0; r < kRanks; ++r) {
    take_part(&j, r);
    j.ranks[r].optimizer = new_adam(&j, j.ranks[r].parameters);
  }
  *state = &j;
  return 0;
}

static int teardown(void** state) {
  job* j = *state;
  for (int r = 0; r < kRanks; ++r) gradstep_optimizer_destroy(j->ranks[r].optimizer);
  for (int r = 0; r < kRanks; ++r) gradstep_comm_destroy(j->comms[r]);
  gradstep_optimizer_destroy(j->whole);
  gradstep_context_destroy(j->context);
  return 0;
}

static void attach_body(int32_t rank, void* user) {
  job* j = user;
  record(&j->ranks[rank].out, gradstep_optimizer_attach_shards(j->ranks[rank].optimizer, j->comms[rank]));
}

static void step_body(int32_t rank, void* user) {
  rank_state* self = &((job*)user)->ranks[rank];
  gradstep_step_options options;
  gradstep_step_result result;
  memset(&result, 0, sizeof result);
  result.struct_size = sizeof result;
  if (!record(&self->out, gradstep_step_options_init(&options, sizeof options))) return;
  options.max_norm = 1;
  options.result = &result;
  record(&self->out, gradstep_optimizer_step_ex(self->optimizer, self->params, self->gradients, NULL, kModelParameters,
                                                &options, NULL));
  self->grad_norm = result.grad_norm;
}

static void save_body(int32_t rank, void* user) {
  rank_state* self = &((job*)user)->ranks[rank];
  record(&self->out, gradstep_optimizer_save_file(self->optimizer, rank == 0 ? kPath : NULL));
}

static void load_body(int32_t rank, void* user) {
  rank_state* self = &((job*)user)->ranks[rank];
  record(&self->out, gradstep_optimizer_load_file(self->optimizer, kPath, NULL));
}

static void run_all(job* j, void (*body)(int32_t rank, void* user)) {
  run_ranks(kRanks, body, j);
  for (int r = 0; r < kRanks; ++r) assert_outcome_ok(&j->ranks[r].out);
}

static void ranks_step_their_parts_of_one_model(void** state) {
  job* j = *state;
  gradstep_step_options options;
  gradstep_step_result result;
  memset(&result, 0, sizeof result);
  result.struct_size = sizeof result;
  assert_ok(gradstep_step_options_init(&options, sizeof options));
  options.max_norm = 1;
  options.result = &result;
  run_all(j, attach_body);
  for (int t = 0; t < 3; ++t) {
    run_all(j, step_body);
    assert_ok(
        gradstep_optimizer_step_ex(j->whole, j->m.params, j->m.gradients, NULL, kModelParameters, &options, NULL));
    assert_true(j->ranks[0].grad_norm == j->ranks[1].grad_norm);
    assert_true(j->ranks[0].grad_norm > 0.999999 * result.grad_norm &&
                j->ranks[0].grad_norm < 1.000001 * result.grad_norm);
  }
  for (int r = 0; r < kRanks; ++r) {
    assert_near(j->ranks[r].values, j->m.values + r * kColumns, kColumns, 1e-6);
    assert_near(j->ranks[r].values + kColumns, j->m.values + 6, kColumns, 1e-6);
  }
}

static void a_save_is_that_of_the_whole(void** state) {
  job* j = *state;
  float first[6];
  float expected[6];
  gradstep_tensor tensor = tensor_f32(first, 2, kWhole);
  run_all(j, attach_body);
  run_all(j, step_body);
  run_all(j, save_body);
  assert_ok(gradstep_optimizer_load_file(j->whole, kPath, NULL));
  assert_ok(gradstep_optimizer_get_state(j->whole, 0, "exp_avg", &tensor, NULL));
  for (int r = 0; r < kRanks; ++r) {
    gradstep_tensor part = tensor_f32(expected + r * kColumns, 2, kRow);
    assert_ok(gradstep_optimizer_get_state(j->ranks[r].optimizer, 0, "exp_avg", &part, NULL));
  }
  assert_memory_equal(first, expected, sizeof first);
  run_all(j, step_body);
  run_all(j, load_body);
  for (int r = 0; r < kRanks; ++r) {
    int64_t steps = 0;
    gradstep_tensor part = tensor_f32(first + r * kColumns, 2, kRow);
    assert_ok(gradstep_optimizer_get_state(j->ranks[r].optimizer, 0, "exp_avg", &part, NULL));
    assert_ok(gradstep_optimizer_step_count(j->ranks[r].optimizer, &steps));
    assert_int_equal(steps, 1);
  }
  assert_memory_equal(first, expected, sizeof first);
  assert_int_equal(remove(kPath), 0);
}

static void parts_that_do_not_fit_are_refused(void** state) {
  static const int64_t beyond[] = {2, 0};
  static const int64_t negative[] = {0, -1};
  job* j = *state;
  gradstep_optimizer* none = NULL;
  gradstep_sgd_options options;
  gradstep_parameter* part = &j->ranks[0].parameters[0];
  assert_ok(gradstep_sgd_options_init(&options, sizeof options));
  part->offset = beyond;
  assert_fails(gradstep_optimizer_create_sgd(j->context, &options, part, 1, &none), GRADSTEP_ERR_INVALID_ARGUMENT,
               "parameters[0] ('dense.weight'): a part of shape (1,3) at offset (2,0) is not inside a whole of (2,3)");
  part->offset = negative;
  assert_fails(gradstep_optimizer_create_sgd(j->context, &options, part, 1, &none), GRADSTEP_ERR_INVALID_ARGUMENT,
               "at offset (0,-1)", "axis 1");
  part->whole_shape = NULL;
  assert_fails(gradstep_optimizer_create_sgd(j->context, &options, part, 1, &none), GRADSTEP_ERR_INVALID_ARGUMENT,
               "offset is given and whole_shape is NULL");
  assert_null(none);
}

static void parts_are_not_stepped_alone_and_state_of_parts_is_not_dealt_out(void** state) {
  job* j = *state;
  rank_state* self = &j->ranks[0];
  gradstep_comm* alone = NULL;
  assert_fails(gradstep_optimizer_step(self->optimizer, self->params, self->gradients, kModelParameters, NULL),
               GRADSTEP_ERR_INVALID_STATE, "parameter 'dense.weight': is a part of (2,3)");
  assert_fails(gradstep_optimizer_save_file(self->optimizer, kPath), GRADSTEP_ERR_INVALID_STATE,
               "parameter 'dense.weight': is a part of (2,3)");
  assert_ok(gradstep_comm_create_local(j->context, 1, &alone));
  assert_fails(gradstep_optimizer_attach_comm(self->optimizer, alone, NULL), GRADSTEP_ERR_UNSUPPORTED,
               "parameter 'dense.weight': is a part of (2,3), expected whole parameters");
  assert_fails(gradstep_optimizer_attach_shards(self->optimizer, alone), GRADSTEP_ERR_MISMATCH,
               "parameter 'dense.weight': the parts of all ranks have 3 elements, expected the 6 of a whole of (2,3): "
               "rank 0 has (1,3) at (0,0)");
  assert_ok(gradstep_optimizer_attach_shards(self->optimizer, NULL));
  gradstep_comm_destroy(alone);
}

static void a_list_says_which_part_a_parameter_is(void** state) {
  const int64_t offset[] = {1, 0};
  gradstep_parameter_list* list = NULL;
  const gradstep_parameter* data;
  (void)state;
  assert_ok(gradstep_parameter_list_create(&list));
  assert_ok(gradstep_parameter_list_push(list, "w", GRADSTEP_TYPE_FLOAT, 32, GRADSTEP_DEVICE_CPU, 0, 2, kRow, 0, 0));
  assert_ok(gradstep_parameter_list_set_part(list, 0, kWhole, offset));
  data = gradstep_parameter_list_data(list);
  assert_memory_equal(data[0].whole_shape, kWhole, sizeof kWhole);
  assert_memory_equal(data[0].offset, offset, sizeof offset);
  assert_fails(gradstep_parameter_list_set_part(list, 1, kWhole, offset), GRADSTEP_ERR_INVALID_ARGUMENT,
               "index: is 1, the list has 1 parameters");
  assert_fails(gradstep_parameter_list_set_part(list, 0, NULL, offset), GRADSTEP_ERR_INVALID_ARGUMENT, "whole_shape");
  assert_fails(gradstep_parameter_list_set_part(list, 0, kWhole, NULL), GRADSTEP_ERR_INVALID_ARGUMENT, "offset");
  assert_fails(gradstep_parameter_list_set_part(NULL, 0, kWhole, offset), GRADSTEP_ERR_INVALID_ARGUMENT, "list");
  gradstep_parameter_list_destroy(list);
}

static gradstep_optimizer* new_muon(job* j, const gradstep_parameter* parameters) {
  const gradstep_option rate = {.name = "learning_rate", .value = 0.1};
  gradstep_optimizer* muon = NULL;
  assert_ok(gradstep_optimizer_create(j->context, "muon", &rate, 1, parameters, 1, &muon));
  return muon;
}

static void step_owned_body(int32_t rank, void* user) {
  job* j = user;
  rank_state* self = &j->ranks[rank];
  const gradstep_tensor whole = tensor_f32(self->momentum, 2, kWhole);
  const gradstep_tensor part = tensor_f32(self->momentum, 2, kRow);
  gradstep_tensor view;
  if (!record(&self->out, gradstep_optimizer_attach_shards(self->muon, j->comms[rank]))) return;
  if (!record(&self->out, gradstep_optimizer_step(self->muon, self->params, self->gradients, 1, NULL))) return;
  assert_int_equal(gradstep_optimizer_get_state(self->muon, 0, "momentum_buffer", &part, NULL),
                   GRADSTEP_ERR_INVALID_ARGUMENT);
  assert_int_equal(gradstep_optimizer_state(self->muon, 0, "momentum_buffer", &view), GRADSTEP_ERR_UNSUPPORTED);
  record(&self->out, gradstep_optimizer_get_state(self->muon, 0, "momentum_buffer", &whole, NULL));
}

static void what_a_rule_steps_as_a_whole_has_an_owner(void** state) {
  job* j = *state;
  gradstep_optimizer* alone = new_muon(j, j->m.parameters);
  gradstep_tensor view;
  assert_ok(gradstep_optimizer_step(alone, j->m.params, j->m.gradients, 1, NULL));
  assert_ok(gradstep_optimizer_state(alone, 0, "momentum_buffer", &view));
  for (int r = 0; r < kRanks; ++r) {
    rank_state* self = &j->ranks[r];
    const gradstep_tensor whole = tensor_f32(self->momentum, 2, kWhole);
    self->muon = new_muon(j, self->parameters);
    assert_fails(gradstep_optimizer_get_state(self->muon, 0, "momentum_buffer", &whole, NULL),
                 GRADSTEP_ERR_INVALID_STATE, "'dense.weight': is a part of (2,3): attach the ranks");
  }
  run_all(j, step_owned_body);
  for (int r = 0; r < kRanks; ++r) {
    assert_memory_equal(j->ranks[r].values, j->m.values + r * kColumns, kColumns * sizeof(float));
    assert_memory_equal(j->ranks[r].momentum, view.data, sizeof j->ranks[r].momentum);
    gradstep_optimizer_destroy(j->ranks[r].muon);
  }
  gradstep_optimizer_destroy(alone);
}

enum { kThree = 3 };

typedef struct averaged {
  gradstep_comm* comms[kThree];
  gradstep_optimizer* muons[kThree];
  gradstep_tensor params[kThree];
  gradstep_tensor grads[kThree];
  outcome out[kThree];
} averaged;

static void average_body(int32_t rank, void* user) {
  averaged* j = user;
  outcome* out = &j->out[rank];
  if (!record(out, gradstep_optimizer_attach_shards(j->muons[rank], j->comms[rank]))) return;
  if (!record(out, gradstep_optimizer_step(j->muons[rank], &j->params[rank], &j->grads[rank], 1, NULL))) return;
  record(out, gradstep_optimizer_average(j->muons[rank], &j->params[rank], 1, NULL));
}

/* The last rank has no row of the matrix, and no data for it. */
static void a_rank_without_elements_takes_part_in_an_average(void** state) {
  job* j = *state;
  static const int64_t no_row[] = {0, 3};
  const gradstep_option options[] = {{.name = "learning_rate", .value = 0.1}, {.name = "average_decay", .value = 0.5}};
  averaged a;
  memset(&a, 0, sizeof a);
  new_local_comms(j->context, kThree, 20000, a.comms);
  for (int r = 0; r < kThree; ++r) {
    const int64_t offset[] = {r, 0};
    gradstep_parameter own = j->ranks[0].parameters[0];
    own.shape = r < kRanks ? kRow : no_row;
    own.offset = offset;
    assert_ok(gradstep_optimizer_create(j->context, "muon", options, 2, &own, 1, &a.muons[r]));
    a.params[r] = tensor_f32(r < kRanks ? j->ranks[r].values : NULL, 2, own.shape);
    a.grads[r] = tensor_f32(r < kRanks ? j->ranks[r].grads : NULL, 2, own.shape);
  }
  run_ranks(kThree, average_body, &a);
  for (int r = 0; r < kThree; ++r) {
    assert_outcome_ok(&a.out[r]);
    gradstep_optimizer_destroy(a.muons[r]);
    gradstep_comm_destroy(a.comms[r]);
  }
}

static void shampoo_refuses_parts_body(int32_t rank, void* user) {
  job* j = user;
  rank_state* self = &j->ranks[rank];
  gradstep_shampoo_options options;
  gradstep_optimizer* shampoo = NULL;
  if (!record(&self->out, gradstep_shampoo_options_init(&options, sizeof options))) return;
  options.learning_rate = 0.1;
  if (!record(&self->out,
              gradstep_optimizer_create_shampoo(j->context, &options, self->parameters, kModelParameters, &shampoo)))
    return;
  record(&self->out, gradstep_optimizer_attach_shards(shampoo, j->comms[rank]));
  gradstep_optimizer_destroy(shampoo);
}

static void shampoo_refuses_parts(void** state) {
  job* j = *state;
  run_ranks(kRanks, shampoo_refuses_parts_body, j);
  for (int r = 0; r < kRanks; ++r) {
    assert_outcome_fails(&j->ranks[r].out, GRADSTEP_ERR_UNSUPPORTED,
                         "'dense.weight': shampoo steps whole tensors on every rank");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(ranks_step_their_parts_of_one_model, setup, teardown),
      cmocka_unit_test_setup_teardown(a_save_is_that_of_the_whole, setup, teardown),
      cmocka_unit_test_setup_teardown(parts_that_do_not_fit_are_refused, setup, teardown),
      cmocka_unit_test_setup_teardown(parts_are_not_stepped_alone_and_state_of_parts_is_not_dealt_out, setup, teardown),
      cmocka_unit_test(a_list_says_which_part_a_parameter_is),
      cmocka_unit_test_setup_teardown(what_a_rule_steps_as_a_whole_has_an_owner, setup, teardown),
      cmocka_unit_test_setup_teardown(a_rank_without_elements_takes_part_in_an_average, setup, teardown),
      cmocka_unit_test_setup_teardown(shampoo_refuses_parts, setup, teardown),
  };
  return cmocka_run_group_tests_name("shards", tests, NULL, NULL);
}
