/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/* rank.h: one rank of a script: its model, its handles, and the calls. */
#ifndef GRADSTEP_LANGUAGES_RANK_H
#define GRADSTEP_LANGUAGES_RANK_H

#include <gradstep/gradstep.h>

#include "script.h"

enum { kMaxParameters = 16, kMaxRanks = 8 };

typedef struct rank {
  const script* script;
  const char* directory; /* of `data` */
  int trace;
  int32_t index;
  gradstep_context* context;
  gradstep_comm* comm;
  size_t n;
  int64_t shapes[kMaxParameters][kMaxList];
  gradstep_parameter parameters[kMaxParameters];
  enum data_type gradient_types[kMaxParameters];
  gradstep_tensor values[kMaxParameters];
  gradstep_tensor gradients[kMaxParameters];
  gradstep_optimizer* optimizer;
  gradstep_accumulator* accumulator;
  gradstep_reducer* reducer;
  gradstep_updater* updater;
  uint64_t generated; /* how many times gradients were */
  unsigned char* saved;
  size_t saved_size, saved_read;
  uint64_t hash;
} rank;

/* How many ranks the script asks for. */
int ranks_of(const script* s);

/* Runs the whole script and leaves its hash. The other fields up to comm are set. */
void run_rank(rank* r);

#endif
