// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The MPI library as a whole, which belongs to the host if the host has started it.
#pragma once

#include <mpi.h>

namespace gradstep::mpi_plugin {

/// Throws BACKEND_UNAVAILABLE with MPI's own words unless `code` is MPI_SUCCESS.
void check(int code, const char* what);

/// Starts MPI if the process has not. What is started here ends when the process exits; what the host has started is
/// the host's to end. Throws INVALID_STATE if MPI has ended already.
void start_library();

/// Whether MPI calls are still allowed.
bool library_runs() noexcept;

/// Whether gradstep's own threads may call MPI while the host's do.
bool any_thread_allowed();

/// Calls were given up half-way: MPI cannot be ended any more, and the process shall not try when it exits.
void give_up_library() noexcept;

}  // namespace gradstep::mpi_plugin
