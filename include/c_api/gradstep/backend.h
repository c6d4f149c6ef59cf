/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * backend.h: plugins. A device backend (libgradstep_cuda.so) or a communicator engine (libgradstep_gloo.so) is opened
 * when it is first needed, and never closed: from an explicit path, else from the directory in GRADSTEP_PLUGIN_DIR,
 * else from libgradstep's own directory, else from the directory gradstep in that one. Nothing falls back silently to
 * another backend or engine.
 */
#ifndef GRADSTEP_BACKEND_H
#define GRADSTEP_BACKEND_H

#include "gradstep/base.h"

#if defined(__cplusplus)
extern "C" {
#endif

/*
 * Opens the plugin at `path`, which stays open until the process ends. Loading the same plugin twice is OK. Any thread.
 * Returns: INVALID_ARGUMENT (path NULL), BACKEND_UNAVAILABLE (with the loader's words, or both build ids where the
 * plugin belongs to another build of gradstep, see docs/abi.md).
 */
GRADSTEP_API gradstep_status gradstep_backend_load(const char* path) GRADSTEP_NOEXCEPT;

/* 1 if the backend or engine `name` ("cpu", "cuda", "self", "local", "shm", "host", "gloo", "mpi" or "nccl") works
 * here, else 0, also for NULL and unknown names. Opens the plugin if there is one. Any thread. */
GRADSTEP_API int32_t gradstep_backend_available(const char* name) GRADSTEP_NOEXCEPT;

/*
 * Writes why the backend or engine `name` is or is not available: "ok" or the loader's words (text, see base.h). Opens
 * the plugin if there is one. Any thread.
 * Returns: INVALID_ARGUMENT (name NULL or unknown; cap too small).
 */
GRADSTEP_API gradstep_status gradstep_backend_status(const char* name, char* buf, size_t cap,
                                                     size_t* len) GRADSTEP_NOEXCEPT;

#if defined(__cplusplus)
}
#endif

#endif /* GRADSTEP_BACKEND_H */
