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
 * gradstep_trace_start begins a trace of this process, gradstep_trace_stop ends it. The trace is a new file at `path`,
 * in Trace Event JSON for chrome://tracing and Perfetto. It has an event for each call of a communicator (category
 * comm) and for each phase (category phase): window, accumulate, pack, exchange, wait, control, unpack, step and roots.
 * Events are on the thread that does the work, and have sizes in bytes and the numbers of bucket, mode and window.
 * Where a library with NVTX's ranges is loaded (libnvToolsExt or libnvtx3interop), each event is a range too; path NULL
 * = ranges alone. The file of a process that died can be read. While no trace is on, a phase costs one look at a flag.
 * Any thread may call both. A forked child writes nothing. stop does nothing where no trace is on; the end of the
 * process stops one. docs/timeline.md has an example.
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
 * gradstep_comm_counters, gradstep_reducer_counters and gradstep_updater_counters write a handle's statistics in the
 * text format of Prometheus (buf, cap and len as for every text, see base.h), for the host to serve. Lines are called
 * gradstep_comm_*, gradstep_reducer_* (one for each bucket, with its number and mode) and gradstep_updater_*, and have
 * HELP and TYPE. `labels` (may be NULL) goes into the braces of every line, for example job="7",rank="0". Not
 * collective. Numbers may grow between the call that asks for the size and the next one, while exchanges run behind the
 * host's work: where cap is too small, ask for the size again.
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
