/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "calls.h"

#include <stdlib.h>
#include <string.h>

#include "fields.h"
#include "model.h"

gradstep_status call_step(rank* r, const script_line* line) {
  gradstep_tensor gradients[kMaxParameters];
  gradstep_step_options options;
  gradstep_step_result result = {.struct_size = sizeof result};
  check(line, gradstep_step_options_init(&options, sizeof options));
  const int n_options = set_fields(line, "step", "", GRADIENT_KEYS, &options);
  gradstep_status status = gradients_of(r, line, gradients);
  if (status != GRADSTEP_OK) return status;
  if (n_options == 0) return gradstep_optimizer_step(r->optimizer, r->values, gradients, r->n, NULL);
  options.result = &result;
  status = gradstep_optimizer_step_ex(r->optimizer, r->values, gradients, NULL, r->n, &options, NULL);
  if (status != GRADSTEP_OK) return status;
  feed_int32(r, result.applied);
  feed_number(r, result.grad_norm);
  feed_number(r, result.clip_coefficient);
  return status;
}

gradstep_status call_add(rank* r, const script_line* line) {
  gradstep_tensor gradients[kMaxParameters];
  int64_t indices[kMaxList];
  int32_t ready = 0;
  const double weight = number_of(line, "weight", 1);
  const int n_indices = integers_of(line, "indices", indices);
  gradstep_status status = gradients_of(r, line, gradients);
  if (status != GRADSTEP_OK) return status;
  if (n_indices < 0) {
    status = gradstep_accumulator_add(r->accumulator, gradients, r->n, weight, NULL, &ready);
  } else {
    const size_t p = index_of(r, line, "rows", integer_of(line, "rows", -1));
    const gradstep_tensor* dense = &r->values[p];
    int64_t shape[kMaxList], n_rows = n_indices;
    memcpy(shape, dense->shape, (size_t)dense->ndim * sizeof *shape);
    shape[0] = n_rows;
    const gradstep_tensor places = {
        .data = indices, .device = dense->device, .ndim = 1, .dtype = {GRADSTEP_TYPE_INT, 64, 1}, .shape = &n_rows};
    gradstep_tensor values = make_tensor(line, kF32, shape, dense->ndim);
    const gradstep_rows rows = {
        .struct_size = sizeof rows, .parameter = (int64_t)p, .indices = &places, .values = &values};
    generate(kDataRows, r->generated, (uint64_t)r->index, p, kF32, elements_of(&values), values.data);
    status = gradstep_accumulator_add_ex(r->accumulator, gradients, r->n, &rows, 1, weight, NULL, &ready);
    free(values.data);
  }
  if (status == GRADSTEP_OK) feed_int32(r, ready);
  return status;
}

gradstep_status call_flush(rank* r, const script_line* line) {
  int32_t ready = 0;
  const gradstep_status status = gradstep_accumulator_flush(r->accumulator, NULL, &ready);
  (void)line;
  if (status == GRADSTEP_OK) feed_int32(r, ready);
  return status;
}

gradstep_status call_reset(rank* r, const script_line* line) {
  (void)line;
  return gradstep_accumulator_reset(r->accumulator, NULL);
}

gradstep_status call_reduce(rank* r, const script_line* line) {
  gradstep_tensor gradients[kMaxParameters];
  const gradstep_status status = gradients_of(r, line, gradients);
  if (status != GRADSTEP_OK) return status;
  return gradstep_reducer_reduce(r->reducer, gradients, NULL, r->n, number_of(line, "weight", 1), NULL);
}

gradstep_status call_exchange(rank* r, const script_line* line) {
  gradstep_tensor gradients[kMaxParameters];
  gradstep_status status = gradients_of(r, line, gradients);
  if (status == GRADSTEP_OK) status = gradstep_reducer_begin(r->reducer, number_of(line, "weight", 1), NULL);
  for (size_t i = r->n; status == GRADSTEP_OK && i-- > 0;) {
    if (gradients[i].data != NULL) status = gradstep_reducer_push(r->reducer, i, &gradients[i], NULL);
  }
  return status == GRADSTEP_OK ? gradstep_reducer_wait(r->reducer, NULL, r->n, NULL) : status;
}

gradstep_status call_push(rank* r, const script_line* line) {
  gradstep_tensor gradients[kMaxParameters];
  int32_t applied = 0;
  gradstep_status status = gradients_of(r, line, gradients);
  if (status != GRADSTEP_OK) return status;
  status = gradstep_updater_push(r->updater, r->values, gradients, r->n, number_of(line, "weight", 1), NULL, &applied);
  if (status == GRADSTEP_OK) feed_int32(r, applied);
  return status;
}

gradstep_status call_finish(rank* r, const script_line* line) {
  int32_t applied = 0;
  const gradstep_status status = gradstep_updater_flush(r->updater, r->values, r->n, NULL, &applied);
  (void)line;
  if (status == GRADSTEP_OK) feed_int32(r, applied);
  return status;
}

static gradstep_status write_saved(void* user, const void* data, size_t size) {
  rank* r = user;
  unsigned char* grown = realloc(r->saved, r->saved_size + size);
  if (grown == NULL) return GRADSTEP_ERR_OUT_OF_MEMORY;
  memcpy(grown + r->saved_size, data, size);
  r->saved = grown;
  r->saved_size += size;
  return GRADSTEP_OK;
}

static gradstep_status read_saved(void* user, void* data, size_t size, size_t* got) {
  rank* r = user;
  const size_t left = r->saved_size - r->saved_read;
  *got = size < left ? size : left;
  if (*got > 0) memcpy(data, r->saved + r->saved_read, *got);
  r->saved_read += *got;
  return GRADSTEP_OK;
}

#define HANDLES "optimizer,accumulator,reducer,updater"
static int handle_of(const script_line* line) {
  const char* word = value_of(line, "handle");
  const int handle = word != NULL ? place_in(HANDLES, word) : -1;
  if (handle < 0) die(line, "handle: expected one of %s", HANDLES);
  return handle;
}

gradstep_status call_save(rank* r, const script_line* line) {
  const gradstep_stream stream = {.struct_size = sizeof stream, .user = r, .write = write_saved};
  r->saved_size = 0;
  switch (handle_of(line)) {
    case 0:
      return gradstep_optimizer_save(r->optimizer, &stream);
    case 1:
      return gradstep_accumulator_save(r->accumulator, &stream);
    case 2:
      return gradstep_reducer_save(r->reducer, &stream);
    default:
      return gradstep_updater_save(r->updater, &stream);
  }
}

gradstep_status call_load(rank* r, const script_line* line) {
  const gradstep_stream stream = {.struct_size = sizeof stream, .user = r, .read = read_saved};
  r->saved_read = 0;
  switch (handle_of(line)) {
    case 0:
      return gradstep_optimizer_load(r->optimizer, &stream, NULL);
    case 1:
      return gradstep_accumulator_load(r->accumulator, &stream, NULL);
    case 2:
      return gradstep_reducer_load(r->reducer, &stream, NULL);
    default:
      return gradstep_updater_load(r->updater, &stream, NULL);
  }
}

gradstep_status read_parameters(rank* r, const script_line* line) {
  read_data(r, line, r->values);
  return GRADSTEP_OK;
}
