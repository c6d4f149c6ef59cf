/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Saved state in memory, through a host's stream. */
#ifndef GRADSTEP_TESTS_MEMORY_STREAM_H
#define GRADSTEP_TESTS_MEMORY_STREAM_H

#include <string.h>

#include "gradstep/gradstep.h"

/* A stream over memory that can be made to fail. */
typedef struct memory {
  char bytes[1 << 16];
  size_t size;
  size_t at;
  size_t fail_after; /* bytes; 0 = never */
  int releases;
} memory;

static inline gradstep_status memory_write(void* user, const void* data, size_t size) {
  memory* m = user;
  if (m->fail_after > 0 && m->size + size > m->fail_after) {
    gradstep_set_last_error("the disk of this host is full");
    return GRADSTEP_ERR_IO;
  }
  if (size > sizeof m->bytes - m->size) return GRADSTEP_ERR_OUT_OF_MEMORY;
  memcpy(m->bytes + m->size, data, size);
  m->size += size;
  return GRADSTEP_OK;
}

static inline gradstep_status memory_read(void* user, void* data, size_t size, size_t* got) {
  memory* m = user;
  const size_t left = m->size - m->at;
  if (m->fail_after > 0 && m->at >= m->fail_after) return GRADSTEP_ERR_INTERNAL;
  *got = size < left ? size : left;
  if (*got > 100) *got = 100;
  memcpy(data, m->bytes + m->at, *got);
  m->at += *got;
  return GRADSTEP_OK;
}

static inline void memory_release(void* user) { ++((memory*)user)->releases; }

/* At its beginning. */
static inline gradstep_stream stream_over(memory* m) {
  gradstep_stream stream;
  memset(&stream, 0, sizeof stream);
  stream.struct_size = sizeof stream;
  stream.user = m;
  stream.write = memory_write;
  stream.read = memory_read;
  stream.release = memory_release;
  m->at = 0;
  return stream;
}

#endif
