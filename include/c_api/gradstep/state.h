/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * state.h: what a handle holds, written to a stream or a file and read back.
 *
 * Files have the layout of safetensors: u64 length of a JSON header, the header, the tensors. Keys are
 * "<parameter>/<state>"; "__metadata__" has "gradstep.format" (the version, "1"), "gradstep.kind", the counters, and
 * the options for information. The last tensor, "gradstep.checksum" (U64[1]), covers every byte before it. Files depend
 * on neither the world size nor the number of threads; what each rank has of its own stands under "rank/<r>/".
 *
 * Loading restores tensors and counters, not hyper-parameters. Everything is checked before anything is changed:
 * CORRUPT (truncated, a flipped byte, not this format, counters that contradict each other), MISMATCH (another kind,
 * names, shapes, dtypes, or buffers; an updater's window that is open or was not applied, on another number of ranks;
 * names the first difference), UNSUPPORTED (a later format version), IO.
 */
#ifndef GRADSTEP_STATE_H
#define GRADSTEP_STATE_H

#include "gradstep/accumulator.h"
#include "gradstep/optimizer.h"
#include "gradstep/reducer.h"
#include "gradstep/updater.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* The host's bytes. A save only writes, a load only reads; the other may be NULL. The struct is read during the call
 * alone; release, if any, is called once at its end, whatever it returns. */
typedef struct gradstep_stream {
  uint32_t struct_size;
  int32_t reserved;
  void* user;
  /* Takes all `size` bytes or fails. */
  gradstep_status (*write)(void* user, const void* data, size_t size);
  /* Reads up to `size` bytes, *got = how many; 0 = the end. */
  gradstep_status (*read)(void* user, void* data, size_t size, size_t* got);
  void (*release)(void* user);
} gradstep_stream;

typedef struct gradstep_load_options {
  uint32_t struct_size;
  int32_t allow_unchecked; /* 1: a file without "gradstep.checksum" is taken (made or edited by another program) */
} gradstep_load_options;

/* Defaults: allow_unchecked 0. Returns: INVALID_ARGUMENT if o is NULL or struct_size is out of range. */
GRADSTEP_API gradstep_status gradstep_load_options_init(gradstep_load_options* o, size_t struct_size) GRADSTEP_NOEXCEPT;

/*
 * Save and load over a stream. A sharded optimizer, and an updater over several ranks (its reducer's, or those of its
 * sharded optimizer), are saved collectively: rank 0 passes the stream, the others NULL. They are loaded collectively
 * too, and every rank passes a stream on the whole file. load_options NULL = defaults.
 * Returns: INVALID_ARGUMENT; UNSUPPORTED (save: a name is not UTF-8, or names and shapes take more than the 100,000,000
 * bytes of a header); INVALID_STATE (save: an optimizer whose state is lost, see step and attach_comm; an updater that
 * has stepped and whose exchange has failed since, flush first); CALLBACK (a function of the stream failed: the text
 * has its status and words; or a schedule); and the statuses above. Collectively, also the statuses of a collective
 * call, and ABORTED ("another rank could not ..."): the call failed on that rank, which returns why, and nothing was
 * loaded on any.
 */
GRADSTEP_API gradstep_status gradstep_optimizer_save(gradstep_optimizer* optimizer,
                                                     const gradstep_stream* stream) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_optimizer_load(gradstep_optimizer* optimizer, const gradstep_stream* stream,
                                                     const gradstep_load_options* options) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_accumulator_save(gradstep_accumulator* accumulator,
                                                       const gradstep_stream* stream) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_accumulator_load(gradstep_accumulator* accumulator, const gradstep_stream* stream,
                                                       const gradstep_load_options* options) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_reducer_save(gradstep_reducer* reducer,
                                                   const gradstep_stream* stream) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_reducer_load(gradstep_reducer* reducer, const gradstep_stream* stream,
                                                   const gradstep_load_options* options) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_updater_save(gradstep_updater* updater,
                                                   const gradstep_stream* stream) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_updater_load(gradstep_updater* updater, const gradstep_stream* stream,
                                                   const gradstep_load_options* options) GRADSTEP_NOEXCEPT;

/*
 * The same with a path. A save writes "<path>.tmp.<16 random digits>" beside it, flushes it to the disk, and renames
 * it: whatever happens, `path` is the old file or the new one, whole. A file that is replaced passes on its permissions
 * and, where the system allows it, its owner and group; a new one has those of the process's umask. Symbolic links are
 * followed: what they point to is replaced, and they stay. Anything but a regular file (a FIFO, a device, a directory)
 * is IO at once, and so is, to a save, another user's link in a folder for everybody such as /tmp. Where saving is
 * collective, ranks other than 0 may pass NULL.
 */
GRADSTEP_API gradstep_status gradstep_optimizer_save_file(gradstep_optimizer* optimizer,
                                                          const char* path) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_optimizer_load_file(gradstep_optimizer* optimizer, const char* path,
                                                          const gradstep_load_options* options) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_accumulator_save_file(gradstep_accumulator* accumulator,
                                                            const char* path) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_accumulator_load_file(gradstep_accumulator* accumulator, const char* path,
                                                            const gradstep_load_options* options) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_reducer_save_file(gradstep_reducer* reducer, const char* path) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_reducer_load_file(gradstep_reducer* reducer, const char* path,
                                                        const gradstep_load_options* options) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_updater_save_file(gradstep_updater* updater, const char* path) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_updater_load_file(gradstep_updater* updater, const char* path,
                                                        const gradstep_load_options* options) GRADSTEP_NOEXCEPT;

#if defined(__cplusplus)
}
#endif

#endif /* GRADSTEP_STATE_H */
