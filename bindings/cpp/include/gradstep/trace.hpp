// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// trace.hpp: a timeline of what this process does. Counters as text are counters() of communicators, reducers,
// updaters.
#pragma once

#include <gradstep/trace.h>

#include <gradstep/error.hpp>
#include <optional>
#include <string>

namespace gradstep::inline cpp_v0 {

/// From here on this process writes what it does into a new file; without a path as ranges of NVTX alone.
inline void trace_start(const std::optional<std::string>& path) {
  check(gradstep_trace_start(path ? path->c_str() : nullptr));
}

/// Completes the file. Nothing where no trace is on.
inline void trace_stop() { check(gradstep_trace_stop()); }

}  // namespace gradstep::inline cpp_v0
