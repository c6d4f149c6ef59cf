/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * context.h: the thread pool, allocator, log sink and loaded backends that handles share.
 *
 * Results never depend on num_threads, on a host parallel_for, or on the instruction set that was chosen at run time.
 * The environment variable GRADSTEP_INSTRUCTION_SET = baseline | neon | avx2 | avx512 caps the choice (for tests):
 * baseline, avx2 and avx512 are of x86-64, neon is of aarch64 and all that it has.
 */
#ifndef GRADSTEP_CONTEXT_H
#define GRADSTEP_CONTEXT_H

#include "gradstep/base.h"
#include "gradstep/tensor.h"

#if defined(__cplusplus)
extern "C" {
#endif

typedef struct gradstep_context gradstep_context;

enum gradstep_log_level {
  GRADSTEP_LOG_INVALID = -1,
  GRADSTEP_LOG_OFF = 0,
  GRADSTEP_LOG_ERROR = 1,
  GRADSTEP_LOG_WARNING = 2,
  GRADSTEP_LOG_INFO = 3,
  GRADSTEP_LOG_DEBUG = 4
};

/*
 * Memory for gradstep's own buffers. `allocate` returns `bytes` bytes on the given device (a DLPack device type and id;
 * CPU is 1 and 0) aligned to `alignment` (a power of two), or NULL; `deallocate` gets back what allocate returned, with
 * the same bytes, alignment and device. `stream` is NULL: the memory must be usable on every stream of the device, and
 * is used on none any more when it is given back. Both are needed. They may be called by any thread that is inside
 * gradstep and by gradstep's own, and after the first step of a handle no more on its hot path.
 */
typedef struct gradstep_allocator {
  uint32_t struct_size;
  uint32_t reserved;
  void* user;
  void* (*allocate)(void* user, size_t bytes, size_t alignment, int32_t device_type, int32_t device_id, void* stream);
  void (*deallocate)(void* user, void* data, size_t bytes, size_t alignment, int32_t device_type, int32_t device_id,
                     void* stream);
  void (*release)(void* user); /* may be NULL */
} gradstep_allocator;

/*
 * Callbacks get their own `user`. Each `*_release` (may be NULL) is called exactly once: when the last handle of the
 * context is gone, or before a failing create returns.
 */
typedef struct gradstep_context_options {
  uint32_t struct_size;
  int32_t num_threads;        /* 0 = min(8, cores); 1 = the caller alone; ignored with parallel_for */
  int32_t background_threads; /* threads of the low-priority lane, started at first use; default 1 */
  int32_t log_level;          /* enum gradstep_log_level, default OFF */

  /* Log sink for records of log_level and below (docs/failure.md has them); level is of enum gradstep_log_level. Called
   * only by threads that are inside gradstep, of the handles' hosts, several at once maybe; must not call gradstep.
   * What it throws is dropped: no call fails by its record. NULL = no log. */
  void (*log)(void* user, int32_t level, const char* text);
  void* log_user;
  void (*log_release)(void* user);

  /* Runs body(body_user, i) once for every i in [0, n), in any order, on any threads, and returns when all are done.
   * Called only by threads that are inside gradstep. What ran is counted: an index that was left out, came twice (it is
   * run once) or is out of range makes the call fail with CALLBACK. */
  gradstep_status (*parallel_for)(void* user, int64_t n, void (*body)(void* body_user, int64_t i), void* body_user);
  void* parallel_for_user;
  void (*parallel_for_release)(void* user);

  /* Polled at most every 100 ms by a thread that waits inside gradstep; non-zero ends its call as ABORTED. */
  int32_t (*interrupt)(void* user);
  void* interrupt_user;
  void (*interrupt_release)(void* user);

  const gradstep_allocator* allocator; /* NULL = the C library's; the struct is copied */

  /*
   * Path of a shared library with LAPACK's dsyevd and ssyevd (also as scipy_dsyevd_ and the like, with integers of 32
   * or 64 bits), which Shampoo then uses for the eigenvectors of statistics of 256 and more; NULL = its own for all.
   * It must be safe to call from several threads at once. It stays open until the process ends.
   */
  const char* lapack_library;
} gradstep_context_options;

/* Writes the defaults into the struct_size bytes at o. Returns: INVALID_ARGUMENT (o NULL, a bad struct_size). */
GRADSTEP_API gradstep_status gradstep_context_options_init(gradstep_context_options* o,
                                                           size_t struct_size) GRADSTEP_NOEXCEPT;

/*
 * Creates a context; options NULL = defaults. Threads start at first use. *out is the caller's to destroy.
 * Returns: INVALID_ARGUMENT (out NULL, num_threads or background_threads negative or above 1024, an unknown log level,
 * an allocator without both functions), BACKEND_UNAVAILABLE (lapack_library: no such library, or no eigensolver in it),
 * UNSUPPORTED (an options struct or allocator that asks for something newer than this library), OUT_OF_MEMORY.
 */
GRADSTEP_API gradstep_status gradstep_context_create(const gradstep_context_options* options,
                                                     gradstep_context** out) GRADSTEP_NOEXCEPT;

/* Drops the caller's reference. Handles made on the context keep what they need: the order of destruction is free.
 * NULL is nothing. */
GRADSTEP_API void gradstep_context_destroy(gradstep_context* context) GRADSTEP_NOEXCEPT;

#if defined(__cplusplus)
}
#endif

#endif /* GRADSTEP_CONTEXT_H */
