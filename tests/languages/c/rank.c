/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "rank.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fields.h"

static const gradstep_dtype kDtypes[] = {{GRADSTEP_TYPE_FLOAT, 32, 1},
                                         {GRADSTEP_TYPE_FLOAT, 64, 1},
                                         {GRADSTEP_TYPE_FLOAT, 16, 1},
                                         {GRADSTEP_TYPE_BFLOAT, 16, 1}};

static void feed(rank* r, const void* data, size_t size) { r->hash = hash_bytes(r->hash, data, size); }
static void feed_int32(rank* r, int32_t number) { feed(r, &number, sizeof number); }
static void feed_int64(rank* r, int64_t number) { feed(r, &number, sizeof number); }
static void feed_number(rank* r, double number) {
  const uint64_t nan_bits = 0x7FF8000000000000U;
  feed(r, isnan(number) ? (const void*)&nan_bits : (const void*)&number, sizeof number);
}

static size_t elements_of(const gradstep_tensor* tensor) {
  size_t n = 1;
  for (int32_t k = 0; k < tensor->ndim; ++k) n *= (size_t)tensor->shape[k];
  return n;
}

static size_t bytes_of(const gradstep_tensor* tensor) { return elements_of(tensor) * tensor->dtype.bits / 8; }

static void feed_tensor(rank* r, const gradstep_tensor* tensor) {
  if (tensor->data != NULL) feed(r, tensor->data, bytes_of(tensor));
}

/* The call's own status is what the line says, or the program ends. */
static void check(const script_line* line, gradstep_status status) {
  if (status != GRADSTEP_OK) die(line, "%s: %s", gradstep_status_name(status), gradstep_last_error());
}

static size_t index_of(const rank* r, const script_line* line, const char* key, int64_t index) {
  if (index < 0 || (size_t)index >= r->n) die(line, "%s: there is no parameter %" PRId64, key, index);
  return (size_t)index;
}

static enum data_type type_of(const script_line* line, const char* key, enum data_type otherwise) {
  const char* word = value_of(line, key);
  const int place = word != NULL ? place_in(DATA_TYPES, word) : (int)otherwise;
  if (place < 0) die(line, "%s: '%s' is none of %s", key, word, DATA_TYPES);
  return (enum data_type)place;
}

static gradstep_tensor make_tensor(const script_line* line, enum data_type type, int64_t* shape, int32_t ndim) {
  gradstep_tensor tensor = {.device = {GRADSTEP_DEVICE_CPU, 0}, .ndim = ndim, .dtype = kDtypes[type], .shape = shape};
  tensor.data = calloc(bytes_of(&tensor) + 1, 1);
  if (tensor.data == NULL) die(line, "no memory");
  return tensor;
}

static void add_parameter(rank* r, const script_line* line) {
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

/* The tensors' elements, one after the other, from a file in the script's folder. */
static void read_data(rank* r, const script_line* line, const gradstep_tensor* tensors) {
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

/* The gradients of a call: results of a handle if the line says so. */
#define GRADIENT_KEYS "missing,nan,data,from"
static gradstep_status gradients_of(rank* r, const script_line* line, gradstep_tensor* tensors) {
  const char* from = value_of(line, "from");
  if (from == NULL) {
    find_gradients(r, line, tensors);
    return GRADSTEP_OK;
  }
  if (strcmp(from, "accumulator") == 0) return gradstep_accumulator_gradients(r->accumulator, tensors, r->n, NULL);
  if (strcmp(from, "reducer") == 0) return gradstep_reducer_gradients(r->reducer, tensors, r->n, NULL);
  die(line, "from: '%s' is neither accumulator nor reducer", from);
}

/* A schedule of the line, whose lists the caller keeps. */
typedef struct callback_values {
  int n;
  double values[kMaxList];
} callback_values;

static gradstep_status callback_value(void* user, int64_t step, double* value) {
  const callback_values* own = user;
  if (step >= own->n) {
    gradstep_set_last_error("the callback has no more values");
    return GRADSTEP_ERR_CALLBACK;
  }
  *value = own->values[step];
  return GRADSTEP_OK;
}

typedef struct schedule {
  gradstep_schedule c;
  int64_t boundaries[kMaxList];
  double values[kMaxList];
} schedule;

static void read_schedule(const script_line* line, const char* prefix, const char* known, schedule* s) {
  char boundaries_key[32], values_key[32], keys[128];
  snprintf(boundaries_key, sizeof boundaries_key, "%sboundaries", prefix);
  snprintf(values_key, sizeof values_key, "%svalues", prefix);
  snprintf(keys, sizeof keys, "%s,%s%s", boundaries_key, values_key, known);
  check(line, gradstep_schedule_init(&s->c, sizeof s->c));
  set_fields(line, "schedule", prefix, keys, &s->c);
  const int n_values = numbers_of(line, values_key, s->values);
  if (s->c.kind == GRADSTEP_SCHEDULE_CALLBACK) {
    callback_values* own = calloc(1, sizeof *own);
    if (own == NULL || n_values < 0) die(line, "a callback needs values");
    own->n = n_values;
    memcpy(own->values, s->values, sizeof own->values);
    s->c.function = callback_value;
    s->c.user = own;
    s->c.release = free;
  } else if (n_values >= 0) {
    integers_of(line, boundaries_key, s->boundaries);
    s->c.n_points = n_values;
    s->c.boundaries = s->boundaries;
    s->c.values = s->values;
  }
}

/* The handle in `slot` becomes the new one, unless its creation failed. */
#define REPLACE(kind, slot, create)                \
  do {                                             \
    gradstep_##kind* made = NULL;                  \
    const gradstep_status replace_status = create; \
    if (replace_status == GRADSTEP_OK) {           \
      gradstep_##kind##_destroy(slot);             \
      slot = made;                                 \
    }                                              \
    return replace_status;                         \
  } while (0)

#define CREATE_RULE(rule)                                                                        \
  static gradstep_status create_##rule(rank* r, const script_line* line) {                       \
    gradstep_##rule##_options options;                                                           \
    check(line, gradstep_##rule##_options_init(&options, sizeof options));                       \
    set_fields(line, #rule, "", "", &options);                                                   \
    REPLACE(optimizer, r->optimizer,                                                             \
            gradstep_optimizer_create_##rule(r->context, &options, r->parameters, r->n, &made)); \
  }
CREATE_RULE(sgd)
CREATE_RULE(rmsprop)
CREATE_RULE(adagrad)
CREATE_RULE(adam)
CREATE_RULE(shampoo)

static gradstep_status create_accumulator(rank* r, const script_line* line) {
  gradstep_accumulator_options options;
  schedule windows;
  check(line, gradstep_accumulator_options_init(&options, sizeof options));
  set_fields(line, "accumulator", "", "", &options);
  read_schedule(line, "schedule.", "", &windows);
  if (options.trigger == GRADSTEP_TRIGGER_SCHEDULE) options.schedule = &windows.c;
  REPLACE(accumulator, r->accumulator, gradstep_accumulator_create(r->context, &options, r->parameters, r->n, &made));
}

static gradstep_status create_reducer(rank* r, const script_line* line) {
  gradstep_reducer_options options;
  check(line, gradstep_reducer_options_init(&options, sizeof options));
  set_fields(line, "reducer", "", "", &options);
  REPLACE(reducer, r->reducer, gradstep_reducer_create(r->context, r->comm, &options, r->parameters, r->n, &made));
}

static gradstep_status create_updater(rank* r, const script_line* line) {
  gradstep_updater_options options;
  check(line, gradstep_updater_options_init(&options, sizeof options));
  set_fields(line, "updater", "", "", &options);
  REPLACE(updater, r->updater,
          gradstep_updater_create(r->context, r->optimizer, r->accumulator, r->reducer, &options, &made));
}

static gradstep_status set_value(rank* r, const script_line* line) {
  return gradstep_optimizer_set_value(r->optimizer, (int32_t)integer_of(line, "group", -1), value_of(line, "name"),
                                      number_of(line, "value", NAN));
}

static gradstep_status set_schedule(rank* r, const script_line* line) {
  schedule s;
  read_schedule(line, "", ",name,group", &s);
  return gradstep_optimizer_set_schedule(r->optimizer, (int32_t)integer_of(line, "group", -1), value_of(line, "name"),
                                         &s.c);
}

static gradstep_status step(rank* r, const script_line* line) {
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

static gradstep_status add(rank* r, const script_line* line) {
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

static gradstep_status flush(rank* r, const script_line* line) {
  int32_t ready = 0;
  const gradstep_status status = gradstep_accumulator_flush(r->accumulator, NULL, &ready);
  (void)line;
  if (status == GRADSTEP_OK) feed_int32(r, ready);
  return status;
}

static gradstep_status reset(rank* r, const script_line* line) {
  (void)line;
  return gradstep_accumulator_reset(r->accumulator, NULL);
}

static gradstep_status reduce(rank* r, const script_line* line) {
  gradstep_tensor gradients[kMaxParameters];
  const gradstep_status status = gradients_of(r, line, gradients);
  if (status != GRADSTEP_OK) return status;
  return gradstep_reducer_reduce(r->reducer, gradients, NULL, r->n, number_of(line, "weight", 1), NULL);
}

static gradstep_status exchange(rank* r, const script_line* line) {
  gradstep_tensor gradients[kMaxParameters];
  gradstep_status status = gradients_of(r, line, gradients);
  if (status == GRADSTEP_OK) status = gradstep_reducer_begin(r->reducer, number_of(line, "weight", 1), NULL);
  for (size_t i = r->n; status == GRADSTEP_OK && i-- > 0;) {
    if (gradients[i].data != NULL) status = gradstep_reducer_push(r->reducer, i, &gradients[i], NULL);
  }
  return status == GRADSTEP_OK ? gradstep_reducer_wait(r->reducer, NULL, r->n, NULL) : status;
}

static gradstep_status push(rank* r, const script_line* line) {
  gradstep_tensor gradients[kMaxParameters];
  int32_t applied = 0;
  gradstep_status status = gradients_of(r, line, gradients);
  if (status != GRADSTEP_OK) return status;
  status = gradstep_updater_push(r->updater, r->values, gradients, r->n, number_of(line, "weight", 1), NULL, &applied);
  if (status == GRADSTEP_OK) feed_int32(r, applied);
  return status;
}

static gradstep_status finish(rank* r, const script_line* line) {
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

static gradstep_status save(rank* r, const script_line* line) {
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

static gradstep_status load(rank* r, const script_line* line) {
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

static gradstep_status read_parameters(rank* r, const script_line* line) {
  read_data(r, line, r->values);
  return GRADSTEP_OK;
}

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

static gradstep_status hash(rank* r, const script_line* line) {
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

static const struct {
  const char* name;
  gradstep_status (*make)(rank* r, const script_line* line);
} kCalls[] = {{"sgd", create_sgd},
              {"rmsprop", create_rmsprop},
              {"adagrad", create_adagrad},
              {"adam", create_adam},
              {"shampoo", create_shampoo},
              {"accumulator", create_accumulator},
              {"reducer", create_reducer},
              {"updater", create_updater},
              {"set", set_value},
              {"schedule", set_schedule},
              {"step", step},
              {"add", add},
              {"flush", flush},
              {"reset", reset},
              {"reduce", reduce},
              {"exchange", exchange},
              {"push", push},
              {"finish", finish},
              {"save", save},
              {"load", load},
              {"hash", hash},
              {"parameters", read_parameters}};

static gradstep_status make_call(rank* r, const script_line* line) {
  for (size_t k = 0; k < sizeof kCalls / sizeof *kCalls; ++k) {
    if (strcmp(kCalls[k].name, line->call) == 0) return kCalls[k].make(r, line);
  }
  die(line, "there is no such call");
}

static void run_line(rank* r, const script_line* line) {
  const char* fails = value_of(line, "fails");
  const int64_t times = integer_of(line, "times", 1);
  if (integer_of(line, "only", r->index) != r->index) return;
  for (int64_t k = 0; k < times; ++k) {
    const gradstep_status status = make_call(r, line);
    const char* found = gradstep_status_name(status);
    if (fails == NULL) check(line, status);
    if (fails != NULL && (status == GRADSTEP_OK || strcmp(found + strlen("GRADSTEP_ERR_"), fails) != 0))
      die(line, "returned %s, expected GRADSTEP_ERR_%s: %s", found, fails, gradstep_last_error());
    feed_int32(r, status);
    if (r->trace)
      fprintf(stderr, "%s %d %d %s %016" PRIx64 "\n", line->script, r->index, line->number, line->call, r->hash);
  }
}

int ranks_of(const script* s) {
  if (s->n_lines == 0 || strcmp(s->lines[0].call, "ranks") != 0) return 1;
  const int64_t n = s->lines[0].n_keys == 1 ? integer_of(&s->lines[0], "n", 0) : 0;
  if (n < 1 || n > kMaxRanks) die(&s->lines[0], "expected n=1 to n=%d", kMaxRanks);
  return (int)n;
}

void run_rank(rank* r) {
  r->hash = HASH_START;
  for (size_t k = 0; k < r->script->n_lines; ++k) {
    const script_line* line = &r->script->lines[k];
    if (strcmp(line->call, "ranks") == 0) continue;
    if (strcmp(line->call, "parameter") != 0) {
      run_line(r, line);
    } else if (r->n < kMaxParameters) {
      add_parameter(r, line);
    } else {
      die(line, "more than %d parameters", kMaxParameters);
    }
  }
  gradstep_updater_destroy(r->updater);
  gradstep_reducer_destroy(r->reducer);
  gradstep_accumulator_destroy(r->accumulator);
  gradstep_optimizer_destroy(r->optimizer);
  for (size_t i = 0; i < r->n; ++i) {
    free(r->values[i].data);
    free(r->gradients[i].data);
  }
  free(r->saved);
}
