// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Statuses become exceptions here, and exceptions raised in callbacks find their way back to the caller.
#pragma once

#include <string>

#include "gradstep/base.h"
#include "python_object.h"

namespace gradstep_python {

/// Registers the classes: a dict from status to exception class. Called once by gradstep.errors.
void set_exception_classes(PyObject* by_status);

/// Raises the class of `status` with `text`. Always returns false, for `return raise_error(...)`.
bool raise_error(gradstep_status status, const std::string& text);

/// Raises `status` with "<text>: <type>: <text of the current exception>", and that exception as its cause.
bool raise_error_from_current(gradstep_status status, const std::string& text);

/// Raises what a gradstep call that returned `status` means: the exception that a callback raised inside it, as it was,
/// else the class of the status with gradstep_last_error(). Call right after it, with the lock held. True if status is
/// OK.
bool check_status(gradstep_status status);

/// For callbacks: keeps the current Python exception for the call that the callback serves, and sets its text as
/// gradstep_last_error(). Returns CALLBACK, the status to hand to gradstep.
gradstep_status keep_exception();

/// keep_exception() for the interrupt of a context, which has no status of its own.
void keep_interrupt();

/// keep_exception() for callbacks that talk to peers: an exception of gradstep's own classes keeps its status,
/// TimeoutError is TIMEOUT and ConnectionError PEER_LOST.
gradstep_status keep_peer_exception();

}  // namespace gradstep_python
