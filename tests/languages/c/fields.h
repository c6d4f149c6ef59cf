/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/* fields.h: options structs, filled by the keys of a line. */
#ifndef GRADSTEP_LANGUAGES_FIELDS_H
#define GRADSTEP_LANGUAGES_FIELDS_H

#include <gradstep/gradstep.h>

#include "script.h"

/* What a script's values are: a field of an options struct. */
typedef struct field {
  const char* name;
  size_t offset;
  char type;         /* 'd' double, 'i' int32, 'l' int64 */
  const char* words; /* of an enum, in the order of their numbers from 0; else NULL */
} field;

typedef struct field_table {
  const char* call;
  const field* fields;
  size_t n_fields;
} field_table;

/* Sets in `options`, a struct of the call `table`, what the line gives and is not among `known` ("first,second,...").
 * With the prefix "schedule." an accumulator's line gives the keys that have it, and without one ("") the others.
 * Returns how many fields were set. */
int set_fields(const script_line* line, const char* table, const char* prefix, const char* known, void* options);

#endif
