/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * trace.h: what a process does, to be seen: a timeline of its phases, and its counters as text.
 */
#ifndef GRADSTEP_TRACE_H
#define GRADSTEP_TRACE_H

#include "gradstep/comm.h"
#include "gradstep/reducer.h"
#include "gradstep/updater.h"

#if defined(__cplusplus)
extern "C" {
#endif

/*
 * gradstep_trace_start and gradstep_trace_stop: between them this process writes what it does, and when, into a new
 * file at `path`, as Trace Event JSON for chrome://tracing and Perfetto: one event for each call of a communicator
 * (category comm) and for each phase window, accumulate, pack, exchange, wait, control, unpack, step and roots
 * (category phase), on the thread that does it, with sizes in bytes and the numbers of bucket, mode and window. Where a
 * library with NVTX's ranges (libnvToolsExt or libnvtx3interop) is loaded, they are its ranges, too; path NULL = those
 * alone. What the process has written before it dies can be read. docs/timeline.md says more. Off, a phase costs one
 * look at a flag. Any thread; a forked child writes nothing. stop is nothing where no trace is on; the process's end
 * stops one, too.
 *
 * The environment variable GRADSTEP_TRACE=PATH starts a trace with the first context: into PATH.<rank>.json where a
 * launcher says the rank (gradstep_comm_create lists its variables), else PATH.<process number>.json. A file that
 * cannot be made fails gradstep_context_create.
 * Returns: INVALID_ARGUMENT (path is empty), INVALID_STATE (start: one is on), IO (the file), BACKEND_UNAVAILABLE (path
 * NULL: no such library is loaded), OUT_OF_MEMORY.
 */
GRADSTEP_API gradstep_status gradstep_trace_start(const char* path) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_trace_stop(void) GRADSTEP_NOEXCEPT;

/*
 * gradstep_comm_counters, gradstep_reducer_counters and gradstep_updater_counters: a handle's statistics in the text
 * format of Prometheus (text, see base.h), for the host to serve or to write: lines gradstep_comm_*, gradstep_reducer_*
 * (one for each bucket, with its number and mode) and gradstep_updater_*, with their HELP and TYPE. `labels` (may be
 * NULL) goes into the braces of every line, for example job="7",rank="0". Not collective. While exchanges run behind
 * the host's work, numbers may grow between a call for the room and the next one: then cap is too small, and it is
 * asked for anew.
 * Returns: INVALID_ARGUMENT (labels with a line break or a brace, cap is too small), INVALID_STATE (in use),
 * OUT_OF_MEMORY.
 */
GRADSTEP_API gradstep_status gradstep_comm_counters(gradstep_comm* comm, const char* labels, char* buf, size_t cap,
                                                    size_t* len) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_reducer_counters(gradstep_reducer* reducer, const char* labels, char* buf,
                                                       size_t cap, size_t* len) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_updater_counters(gradstep_updater* updater, const char* labels, char* buf,
                                                       size_t cap, size_t* len) GRADSTEP_NOEXCEPT;

#if defined(__cplusplus)
}
#endif

#endif /* GRADSTEP_TRACE_H */
