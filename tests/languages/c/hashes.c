/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "model.h"

static gradstep_status hash_gradients(rank* r, const script_line* line) {
  gradstep_tensor gradients[kMaxParameters];
  const gradstep_status status = gradients_of(r, line, gradients);
  for (size_t i = 0; status == GRADSTEP_OK && i < r->n; ++i) feed_tensor(r, &gradients[i]);
  return status;
}

static gradstep_status hash_norm(rank* r, const script_line* line) {
  gradstep_tensor norm;
  double number;
  const gradstep_status status = strcmp(value_of(line, "from"), "reducer") == 0
                                     ? gradstep_reducer_norm(r->reducer, &norm, NULL)
                                     : gradstep_accumulator_norm(r->accumulator, &norm, NULL);
  if (status != GRADSTEP_OK) return status;
  memcpy(&number, norm.data, sizeof number);
  feed_number(r, number);
  return status;
}

static gradstep_status hash_state(rank* r, const script_line* line) {
  for (size_t i = 0; i < r->n; ++i) {
    const enum data_type type = r->parameters[i].dtype.bits == 64 ? kF64 : kF32;
    gradstep_tensor copy = make_tensor(line, type, r->shapes[i], r->parameters[i].ndim);
    const gradstep_status status = gradstep_optimizer_get_state(r->optimizer, i, value_of(line, "name"), &copy, NULL);
    if (status == GRADSTEP_OK) feed_tensor(r, &copy);
    free(copy.data);
    if (status != GRADSTEP_OK && status != GRADSTEP_ERR_INVALID_STATE) return status;
  }
  return GRADSTEP_OK;
}

static gradstep_status hash_value(rank* r, const script_line* line) {
  double value = 0;
  const gradstep_status status =
      gradstep_optimizer_get_value(r->optimizer, (int32_t)integer_of(line, "group", 0), value_of(line, "name"), &value);
  if (status == GRADSTEP_OK) feed_number(r, value);
  return status;
}

static gradstep_status hash_step_count(rank* r) {
  int64_t count = 0;
  const gradstep_status status = gradstep_optimizer_step_count(r->optimizer, &count);
  if (status == GRADSTEP_OK) feed_int64(r, count);
  return status;
}

static gradstep_status hash_window(rank* r, const script_line* line) {
  int64_t count = 0, skipped = 0;
  double weight = 0;
  check(line, gradstep_accumulator_count(r->accumulator, &count));
  check(line, gradstep_accumulator_weight(r->accumulator, &weight));
  check(line, gradstep_accumulator_skipped(r->accumulator, &skipped));
  feed_int64(r, count);
  feed_number(r, weight);
  feed_int64(r, skipped);
  return GRADSTEP_OK;
}

static gradstep_status hash_residual(rank* r) {
  for (size_t i = 0; i < r->n; ++i) {
    gradstep_tensor residual;
    const gradstep_status status = gradstep_reducer_residual(r->reducer, i, &residual);
    if (status != GRADSTEP_OK) return status;
    feed_tensor(r, &residual);
  }
  return GRADSTEP_OK;
}

gradstep_status call_hash(rank* r, const script_line* line) {
  const char* what = value_of(line, "what");
  if (what == NULL) die(line, "no what");
  if (strcmp(what, "gradients") == 0) return hash_gradients(r, line);
  if (strcmp(what, "norm") == 0) return hash_norm(r, line);
  if (strcmp(what, "state") == 0) return hash_state(r, line);
  if (strcmp(what, "value") == 0) return hash_value(r, line);
  if (strcmp(what, "step_count") == 0) return hash_step_count(r);
  if (strcmp(what, "window") == 0) return hash_window(r, line);
  if (strcmp(what, "residual") == 0) return hash_residual(r);
  if (strcmp(what, "parameters") != 0) die(line, "what: '%s' is unknown", what);
  for (size_t i = 0; i < r->n; ++i) feed_tensor(r, &r->values[i]);
  return GRADSTEP_OK;
}
