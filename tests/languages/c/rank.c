/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "rank.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "model.h"

static const struct {
  const char* name;
  script_call* make;
} kCalls[] = {{"sgd", create_sgd},
              {"rmsprop", create_rmsprop},
              {"adagrad", create_adagrad},
              {"adam", create_adam},
              {"shampoo", create_shampoo},
              {"optimizer", create_optimizer},
              {"accumulator", create_accumulator},
              {"reducer", create_reducer},
              {"updater", create_updater},
              {"set", set_value},
              {"schedule", set_schedule},
              {"step", call_step},
              {"add", call_add},
              {"flush", call_flush},
              {"reset", call_reset},
              {"reduce", call_reduce},
              {"exchange", call_exchange},
              {"push", call_push},
              {"finish", call_finish},
              {"save", call_save},
              {"load", call_load},
              {"hash", call_hash},
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
