/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "fields.h"

#include <string.h>

#include "field_tables.h"

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
