/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/* calls.h: the calls of scripts, each with what it feeds to the hash beside its status. */
#ifndef GRADSTEP_LANGUAGES_CALLS_H
#define GRADSTEP_LANGUAGES_CALLS_H

#include "rank.h"

typedef gradstep_status script_call(rank* r, const script_line* line);

/* creations.c */
script_call create_sgd, create_rmsprop, create_adagrad, create_adam, create_shampoo, create_optimizer;
script_call create_accumulator, create_reducer, create_updater;
script_call set_value, set_schedule;

/* calls.c */
script_call call_step, call_add, call_flush, call_reset, call_reduce, call_exchange, call_push, call_finish;
script_call call_save, call_load, read_parameters;

/* hashes.c */
script_call call_hash;

#endif
