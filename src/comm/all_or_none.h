// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// All ranks or none: work of each rank's own whose failure on one must stop the others too.
#pragma once

#include "comm/communicator.h"
#include "core/function_ref.h"

namespace gradstep {

/// Collective. Runs `body` and votes on how it went. A rank where it failed throws that error; the others throw
/// ABORTED, "another rank could not <what>", with the first such rank and its words. `comm` NULL = alone.
void all_or_none(Communicator* comm, const char* what, FunctionRef<void()> body);
/// For a call that has a deadline already.
void all_or_none(Communicator& comm, const char* what, const Deadline& deadline, FunctionRef<void()> body);
void all_or_none(Communicator* comm, const char* what, const Deadline& deadline, FunctionRef<void()> body);

}  // namespace gradstep
