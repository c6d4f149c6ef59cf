/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "model.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const gradstep_dtype kDtypes[] = {{GRADSTEP_TYPE_FLOAT, 32, 1},
                                         {GRADSTEP_TYPE_FLOAT, 64, 1},
                                         {GRADSTEP_TYPE_FLOAT, 16, 1},
                                         {GRADSTEP_TYPE_BFLOAT, 16, 1}};

static void feed(rank* r, const void* data, size_t size) { r->hash = hash_bytes(r->hash, data, size); }
void feed_int32(rank* r, int32_t number) { feed(r, &number, sizeof number); }
void feed_int64(rank* r, int64_t number) { feed(r, &number, sizeof number); }
void feed_number(rank* r, double number) {
  const uint64_t nan_bits = 0x7FF8000000000000U;
  feed(r, isnan(number) ? (const void*)&nan_bits : (const void*)&number, sizeof number);
}

size_t elements_of(const gradstep_tensor* tensor) {
  size_t n = 1;
  for (int32_t k = 0; k < tensor->ndim; ++k) n *= (size_t)tensor->shape[k];
  return n;
}

static size_t bytes_of(const gradstep_tensor* tensor) { return elements_of(tensor) * tensor->dtype.bits / 8; }

void feed_tensor(rank* r, const gradstep_tensor* tensor) {
  if (tensor->data != NULL) feed(r, tensor->data, bytes_of(tensor));
}

void check(const script_line* line, gradstep_status status) {
  if (status != GRADSTEP_OK) die(line, "%s: %s", gradstep_status_name(status), gradstep_last_error());
}

size_t index_of(const rank* r, const script_line* line, const char* key, int64_t index) {
  if (index < 0 || (size_t)index >= r->n) die(line, "%s: there is no parameter %" PRId64, key, index);
  return (size_t)index;
}

static enum data_type type_of(const script_line* line, const char* key, enum data_type otherwise) {
  const char* word = value_of(line, key);
  const int place = word != NULL ? place_in(DATA_TYPES, word) : (int)otherwise;
  if (place < 0) die(line, "%s: '%s' is none of %s", key, word, DATA_TYPES);
  return (enum data_type)place;
}

gradstep_tensor make_tensor(const script_line* line, enum data_type type, int64_t* shape, int32_t ndim) {
  gradstep_tensor tensor = {.device = {GRADSTEP_DEVICE_CPU, 0}, .ndim = ndim, .dtype = kDtypes[type], .shape = shape};
  tensor.data = calloc(bytes_of(&tensor) + 1, 1);
  if (tensor.data == NULL) die(line, "no memory");
  return tensor;
}

void add_parameter(rank* r, const script_line* line) {
  const size_t i = r->n++;
  gradstep_parameter* parameter = &r->parameters[i];
  const enum data_type type = type_of(line, "dtype", kF32);
  const int ndim = integers_of(line, "shape", r->shapes[i]);
  if (ndim < 0) die(line, "no shape");
  r->gradient_types[i] = type_of(line, "gradient", type);
  r->values[i] = make_tensor(line, type, r->shapes[i], ndim);
  r->gradients[i] = make_tensor(line, r->gradient_types[i], r->shapes[i], ndim);
  parameter->struct_size = sizeof *parameter;
  parameter->shape = r->shapes[i];
  parameter->ndim = ndim;
  parameter->dtype = kDtypes[type];
  parameter->device = r->values[i].device;
  parameter->group = (int32_t)integer_of(line, "group", 0);
  generate(kDataParameter, 0, 0, i, type, elements_of(&r->values[i]), r->values[i].data);
}

void read_data(rank* r, const script_line* line, const gradstep_tensor* tensors) {
  char path[4096];
  size_t size, offset = 0;
  snprintf(path, sizeof path, "%s/%s", r->directory, value_of(line, "data"));
  char* bytes = read_file(path, &size);
  for (size_t i = 0; i < r->n; ++i) {
    const size_t own = bytes_of(&tensors[i]);
    if (offset + own > size) die(line, "%s is shorter than its tensors", path);
    memcpy(tensors[i].data, bytes + offset, own);
    offset += own;
  }
  if (offset != size) die(line, "%s is longer than its tensors", path);
  free(bytes);
}

static void make_nan(const rank* r, const script_line* line) {
  static const uint16_t f16 = 0x7E00, bf16 = 0x7FC0;
  static const float f32 = NAN;
  static const double f64 = NAN;
  const void* const nans[] = {&f32, &f64, &f16, &bf16};
  int64_t place[kMaxList];
  if (integers_of(line, "nan", place) != 2) die(line, "nan: expected parameter and element");
  const size_t i = index_of(r, line, "nan", place[0]);
  const size_t size = size_of_type(r->gradient_types[i]);
  if (place[1] < 0 || (size_t)place[1] >= elements_of(&r->gradients[i])) die(line, "nan: no such element");
  memcpy((char*)r->gradients[i].data + (size_t)place[1] * size, nans[r->gradient_types[i]], size);
}

/* The gradients of a call, in `tensors`. */
static void find_gradients(rank* r, const script_line* line, gradstep_tensor* tensors) {
  int64_t missing[kMaxList];
  if (value_of(line, "data") != NULL) {
    read_data(r, line, r->gradients);
  } else {
    ++r->generated;
    for (size_t i = 0; i < r->n; ++i) {
      const gradstep_tensor* own = &r->gradients[i];
      generate(kDataGradient, r->generated, (uint64_t)r->index, i, r->gradient_types[i], elements_of(own), own->data);
    }
  }
  if (value_of(line, "nan") != NULL) make_nan(r, line);
  memcpy(tensors, r->gradients, sizeof r->gradients);
  const int n_missing = integers_of(line, "missing", missing);
  for (int k = 0; k < n_missing; ++k) tensors[index_of(r, line, "missing", missing[k])].data = NULL;
}

gradstep_status gradients_of(rank* r, const script_line* line, gradstep_tensor* tensors) {
  const char* from = value_of(line, "from");
  if (from == NULL) {
    find_gradients(r, line, tensors);
    return GRADSTEP_OK;
  }
  if (strcmp(from, "accumulator") == 0) return gradstep_accumulator_gradients(r->accumulator, tensors, r->n, NULL);
  if (strcmp(from, "reducer") == 0) return gradstep_reducer_gradients(r->reducer, tensors, r->n, NULL);
  die(line, "from: '%s' is neither accumulator nor reducer", from);
}
