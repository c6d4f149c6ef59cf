/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * state.h: what a handle holds, written to a stream or a file and read back.
 *
 * Files have the layout of safetensors: u64 length of a JSON header, the header, the tensors. Keys are
 * "<parameter>/<state>"; "__metadata__" has "gradstep.format" (the version, "1"), "gradstep.kind", the counters, and
 * the options for information. The last tensor, "gradstep.checksum" (U64[1]), covers every byte before it. Files depend
 * on neither the world size nor the number of threads; what each rank has of its own, with local steps its optimizer's
 * state too, stands under "rank/<r>/".
 *
 * Loading restores tensors and counters, not hyper-parameters. Everything is checked before anything is changed.
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
 * alone; release (may be NULL) is called once at its end, whatever it returns (see base.h). A status other
 * than OK makes the call CALLBACK, with the status's name and the text of gradstep_set_last_error. */
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
  int32_t allow_unchecked; /* bool: a file without "gradstep.checksum" is taken (made or edited by another program) */
} gradstep_load_options;

/* Writes the defaults (allow_unchecked 0) into the struct_size bytes at o. Returns: INVALID_ARGUMENT (o NULL, a bad
 * struct_size). */
GRADSTEP_API gradstep_status gradstep_load_options_init(gradstep_load_options* o, size_t struct_size) GRADSTEP_NOEXCEPT;

/*
 * gradstep_*_save: writes what the handle holds to the stream. An accumulator and a reducer are each rank's own. A
 * sharded optimizer, and an updater over several ranks (its reducer's, or those of its sharded optimizer), are saved
 * collectively: rank 0 passes the stream, the others NULL.
 * Names and shapes that take more than the 100,000,000 bytes of a header are packed (docs/saved_state.md).
 * Returns: INVALID_ARGUMENT (stream or its write NULL), INVALID_STATE (in use; an optimizer whose state is lost, see
 * gradstep_optimizer_step and gradstep_optimizer_attach_comm; an accumulator with a broken-off call, see
 * gradstep_accumulator_add; a reducer inside a window; an updater that has stepped and whose exchange has failed since:
 * flush first; parts of parameters that are not attached), UNSUPPORTED (an updater with an outer optimizer, a sharded
 * inner one and a reducer over several ranks; one of parts that gradstep_updater_push refuses),
 * NUMERIC (a hyper-parameter's value is out of range; a state of an optimizer or reducer, named in the
 * text, holds NaN or infinity: on all ranks, and a file that was there stays), CALLBACK (write or a schedule failed),
 * OUT_OF_MEMORY, and collectively ABORTED ("another rank could not ...": the call failed on that rank, which returns
 * why) and the statuses of a collective call.
 */
GRADSTEP_API gradstep_status gradstep_optimizer_save(gradstep_optimizer* optimizer,
                                                     const gradstep_stream* stream) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_accumulator_save(gradstep_accumulator* accumulator,
                                                       const gradstep_stream* stream) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_reducer_save(gradstep_reducer* reducer,
                                                   const gradstep_stream* stream) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_updater_save(gradstep_updater* updater,
                                                   const gradstep_stream* stream) GRADSTEP_NOEXCEPT;

/*
 * gradstep_*_load: reads the stream to its end and takes over what was saved; options NULL = defaults. What is saved
 * collectively is loaded collectively, and every rank passes a stream on the whole file; after
 * gradstep_optimizer_attach_shards an optimizer's load makes no exchange.
 * Returns: INVALID_ARGUMENT (stream or its read NULL), CORRUPT (truncated, a flipped byte, not this format, counters
 * that contradict each other), MISMATCH (another kind, names, shapes, dtypes, or buffers; an updater's window that is
 * open or was not applied, on another number of ranks or with other parts; the text names the first difference),
 * UNSUPPORTED (a later format version, or 8-bit codes of one; 8-bit codes into a part of a parameter), INVALID_STATE
 * (in use; a reducer inside a window; state that an owner is to have, before gradstep_optimizer_attach_shards),
 * CALLBACK (read failed), OUT_OF_MEMORY, and collectively ABORTED ("another rank could not ...": the call failed on
 * that rank, which returns why, and nothing was loaded on any) and the statuses of a collective call.
 */
GRADSTEP_API gradstep_status gradstep_optimizer_load(gradstep_optimizer* optimizer, const gradstep_stream* stream,
                                                     const gradstep_load_options* options) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_accumulator_load(gradstep_accumulator* accumulator, const gradstep_stream* stream,
                                                       const gradstep_load_options* options) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_reducer_load(gradstep_reducer* reducer, const gradstep_stream* stream,
                                                   const gradstep_load_options* options) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_updater_load(gradstep_updater* updater, const gradstep_stream* stream,
                                                   const gradstep_load_options* options) GRADSTEP_NOEXCEPT;

/*
 * gradstep_*_save_file: the same to the file `path` (UTF-8). It writes "<path>.tmp.<16 random digits>" beside it,
 * flushes it to the disk, and renames it: whatever happens, `path` is the old file or the new one, whole. A file that
 * is replaced passes on its permissions and, where the system allows it, its owner and group; a new one has those of
 * the process's umask. Symbolic links are followed: what they point to is replaced, and they stay (on Windows they
 * are replaced). Where saving is collective, ranks other than 0 may pass NULL.
 * Returns: IO (the system's words; at once for anything but a regular file, such as a FIFO, a device or a directory,
 * and for another user's link in a folder for all users such as /tmp), INVALID_ARGUMENT (path NULL or empty), and the
 * other statuses of gradstep_*_save but CALLBACK.
 */
GRADSTEP_API gradstep_status gradstep_optimizer_save_file(gradstep_optimizer* optimizer,
                                                          const char* path) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_accumulator_save_file(gradstep_accumulator* accumulator,
                                                            const char* path) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_reducer_save_file(gradstep_reducer* reducer, const char* path) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_updater_save_file(gradstep_updater* updater, const char* path) GRADSTEP_NOEXCEPT;

/*
 * gradstep_*_load_file: gradstep_*_load from the file `path` (UTF-8), whose symbolic links are followed.
 * Returns: IO (the system's words; at once for anything but a regular file), INVALID_ARGUMENT (path NULL or empty), and
 * the other statuses of gradstep_*_load but CALLBACK.
 */
GRADSTEP_API gradstep_status gradstep_optimizer_load_file(gradstep_optimizer* optimizer, const char* path,
                                                          const gradstep_load_options* options) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_accumulator_load_file(gradstep_accumulator* accumulator, const char* path,
                                                            const gradstep_load_options* options) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_reducer_load_file(gradstep_reducer* reducer, const char* path,
                                                        const gradstep_load_options* options) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_updater_load_file(gradstep_updater* updater, const char* path,
                                                        const gradstep_load_options* options) GRADSTEP_NOEXCEPT;

#if defined(__cplusplus)
}
#endif

#endif /* GRADSTEP_STATE_H */
