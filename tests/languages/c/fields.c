/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "fields.h"

#include <stdio.h>
#include <string.h>

#define NUMBER(name) {#name, offsetof(STRUCT, name), 'd', NULL}
#define INTEGER(name) {#name, offsetof(STRUCT, name), 'l', NULL}
#define INT32(name) {#name, offsetof(STRUCT, name), 'i', NULL}
#define WORDS(name, words) {#name, offsetof(STRUCT, name), 'i', words}
#define STATE_DTYPE WORDS(state_dtype, "native,bf16,int8")
#define EPSILON_PLACEMENT WORDS(epsilon_placement, "inside,outside")

#define STRUCT gradstep_sgd_options
static const field kSgd[] = {NUMBER(learning_rate),
                             NUMBER(momentum),
                             NUMBER(dampening),
                             NUMBER(weight_decay),
                             INT32(nesterov),
                             INT32(maximize),
                             WORDS(first_step, "dampen,copy"),
                             INT32(master_weights),
                             STATE_DTYPE,
                             INT32(stochastic_rounding),
                             INTEGER(seed)};
#undef STRUCT
#define STRUCT gradstep_rmsprop_options
static const field kRmsprop[] = {NUMBER(learning_rate), NUMBER(rho),     NUMBER(epsilon),   NUMBER(weight_decay),
                                 NUMBER(momentum),      INT32(centered), EPSILON_PLACEMENT, STATE_DTYPE};
#undef STRUCT
#define STRUCT gradstep_adagrad_options
static const field kAdagrad[] = {NUMBER(learning_rate),       NUMBER(epsilon),   NUMBER(weight_decay), NUMBER(lr_decay),
                                 NUMBER(initial_accumulator), EPSILON_PLACEMENT, STATE_DTYPE};
#undef STRUCT
#define STRUCT gradstep_adam_options
static const field kAdam[] = {NUMBER(learning_rate), NUMBER(beta1),        NUMBER(beta2),
                              NUMBER(epsilon),       NUMBER(weight_decay), INT32(decoupled_weight_decay),
                              INT32(amsgrad),        INT32(maximize),      WORDS(bias_correction, "standard,tf"),
                              INT32(master_weights), STATE_DTYPE,          INT32(stochastic_rounding),
                              INTEGER(seed)};
#undef STRUCT
#define STRUCT gradstep_shampoo_options
static const field kShampoo[] = {
    NUMBER(learning_rate),
    NUMBER(beta1),
    NUMBER(beta2),
    NUMBER(weight_decay),
    INTEGER(block_size),
    INTEGER(start_preconditioning_step),
    INTEGER(preconditioning_compute_steps),
    WORDS(graft_type, "sgd,adagrad,rmsprop,rmsprop_normalized,sqrt_n,adagrad_normalized,adam,none"),
    WORDS(root_method, "auto,coupled_newton,eigh"),
    INT32(nesterov),
    INT32(decoupled_weight_decay),
    INT32(eigenvalue_corrected)};
#undef STRUCT
#define STRUCT gradstep_accumulator_options
static const field kAccumulator[] = {WORDS(mode, "mean_each,sum,mean,running_mean,weighted"),
                                     WORDS(trigger, "steps,schedule,min_weight,manual"),
                                     WORDS(nonfinite, "none,poison,skip"),
                                     INTEGER(steps),
                                     NUMBER(min_weight),
                                     INT32(keep_sums)};
#undef STRUCT
#define STRUCT gradstep_reducer_options
static const field kReducer[] = {
    WORDS(mode, "dense,half,bfloat16,sparse_threshold,sparse_topk,adasum_tree,adasum_nway,powersgd,auto"),
    WORDS(average, "unset,sum,mean,weighted"),
    INTEGER(fuse_threshold),
    NUMBER(clip_value),
    WORDS(half_sum, "f32,fp16,fp16_predivided"),
    NUMBER(sparsity),
    WORDS(selection, "bucket,tensor"),
    INT32(residual),
    INT32(rank)};
#undef STRUCT
#define STRUCT gradstep_updater_options
static const field kUpdater[] = {WORDS(sync, "gradients,parameters_partial,parameters,deltas"),
                                 INT32(sync_steps),
                                 INT32(skip_nonfinite),
                                 NUMBER(max_norm),
                                 NUMBER(clip_value),
                                 NUMBER(grad_scale)};
#undef STRUCT
#define STRUCT gradstep_step_options
static const field kStep[] = {INT32(skip_nonfinite), NUMBER(grad_scale), NUMBER(max_norm), NUMBER(clip_value)};
#undef STRUCT
#define STRUCT gradstep_schedule
static const field kSchedule[] = {
    WORDS(kind, "constant,exponential_decay,inverse_time,polynomial,cosine,piecewise,callback"),
    NUMBER(init_value),
    NUMBER(end_value),
    INTEGER(decay_steps),
    NUMBER(decay_rate),
    NUMBER(power),
    INT32(staircase),
    INTEGER(warmup_steps)};
#undef STRUCT

#define TABLE(call, fields) {call, fields, sizeof(fields) / sizeof *(fields)}
static const field_table kTables[] = {TABLE("sgd", kSgd),         TABLE("rmsprop", kRmsprop),
                                      TABLE("adagrad", kAdagrad), TABLE("adam", kAdam),
                                      TABLE("shampoo", kShampoo), TABLE("accumulator", kAccumulator),
                                      TABLE("reducer", kReducer), TABLE("updater", kUpdater),
                                      TABLE("step", kStep),       TABLE("schedule", kSchedule)};

static const field_table* table_of(const char* call) {
  size_t k = 0;
  while (strcmp(kTables[k].call, call) != 0) ++k;
  return &kTables[k];
}

static void set_field(const script_line* line, const field* f, const char* key, char* options) {
  const char* value = value_of(line, key);
  char* to = options + f->offset;
  if (f->words != NULL) {
    const int32_t place = place_in(f->words, value);
    if (place < 0) die(line, "%s: '%s' is none of %s", key, value, f->words);
    memcpy(to, &place, sizeof place);
  } else if (f->type == 'i') {
    const int32_t number = (int32_t)integer_of(line, key, 0);
    memcpy(to, &number, sizeof number);
  } else if (f->type == 'l') {
    const int64_t number = integer_of(line, key, 0);
    memcpy(to, &number, sizeof number);
  } else {
    const double number = number_of(line, key, 0);
    memcpy(to, &number, sizeof number);
  }
}

int set_fields(const script_line* line, const char* table, const char* prefix, const char* known, void* options) {
  const field_table* t = table_of(table);
  int n_set = 0;
  for (int k = 0; k < line->n_keys; ++k) {
    const char* key = line->keys[k];
    const size_t length = strlen(prefix);
    const field* found = NULL;
    if (place_in("times,only,fails", key) >= 0 || place_in(known, key) >= 0) continue;
    if (strncmp(key, prefix, length) != 0 || (length == 0 && strchr(key, '.') != NULL)) continue;
    for (size_t i = 0; i < t->n_fields; ++i) {
      if (strcmp(t->fields[i].name, key + length) == 0) found = &t->fields[i];
    }
    if (found == NULL) die(line, "there is no key '%s'", key);
    set_field(line, found, key, options);
    ++n_set;
  }
  return n_set;
}
