/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "fields.h"
#include "model.h"

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
  gradstep_status create_##rule(rank* r, const script_line* line) {                              \
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

gradstep_status create_optimizer(rank* r, const script_line* line) {
  gradstep_option options[kMaxKeys];
  size_t n = 0;
  for (int k = 0; k < line->n_keys; ++k) {
    if (place_in("rule,times,only,fails", line->keys[k]) >= 0) continue;
    char* end;
    const double number = strtod(line->values[k], &end);
    options[n++] = (gradstep_option){line->keys[k], number, *end == '\0' ? NULL : line->values[k]};
  }
  REPLACE(optimizer, r->optimizer,
          gradstep_optimizer_create(r->context, value_of(line, "rule"), options, n, r->parameters, r->n, &made));
}

gradstep_status create_accumulator(rank* r, const script_line* line) {
  gradstep_accumulator_options options;
  schedule windows;
  check(line, gradstep_accumulator_options_init(&options, sizeof options));
  set_fields(line, "accumulator", "", "", &options);
  read_schedule(line, "schedule.", "", &windows);
  if (options.trigger == GRADSTEP_TRIGGER_SCHEDULE) options.schedule = &windows.c;
  REPLACE(accumulator, r->accumulator, gradstep_accumulator_create(r->context, &options, r->parameters, r->n, &made));
}

gradstep_status create_reducer(rank* r, const script_line* line) {
  gradstep_reducer_options options;
  check(line, gradstep_reducer_options_init(&options, sizeof options));
  set_fields(line, "reducer", "", "", &options);
  REPLACE(reducer, r->reducer, gradstep_reducer_create(r->context, r->comm, &options, r->parameters, r->n, &made));
}

gradstep_status create_updater(rank* r, const script_line* line) {
  gradstep_updater_options options;
  check(line, gradstep_updater_options_init(&options, sizeof options));
  set_fields(line, "updater", "", "", &options);
  REPLACE(updater, r->updater,
          gradstep_updater_create(r->context, r->optimizer, r->accumulator, r->reducer, &options, &made));
}

gradstep_status set_value(rank* r, const script_line* line) {
  return gradstep_optimizer_set_value(r->optimizer, (int32_t)integer_of(line, "group", -1), value_of(line, "name"),
                                      number_of(line, "value", NAN));
}

gradstep_status set_schedule(rank* r, const script_line* line) {
  schedule s;
  read_schedule(line, "", ",name,group", &s);
  return gradstep_optimizer_set_schedule(r->optimizer, (int32_t)integer_of(line, "group", -1), value_of(line, "name"),
                                         &s.c);
}
