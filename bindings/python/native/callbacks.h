// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Options that hold Python callables. Each class is the C struct plus what the struct points to; a call that takes such
// a struct takes references of its own (keep_callables) which gradstep gives back through the release functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gradstep/context.h"
#include "gradstep/schedule.h"
#include "python_object.h"

namespace gradstep_python {

/// A schedule: `boundaries` and `values` are sequences of numbers or None, `function` is a callable(step) -> value or
/// None.
class ScheduleArguments : public gradstep_schedule {
 public:
  ScheduleArguments(PyObject* boundaries, PyObject* values, PyObject* function);
  /// False with a Python error if the constructor failed.
  bool valid() const { return valid_; }

 private:
  std::vector<std::int64_t> boundaries_;
  std::vector<double> values_;
  ObjectRef function_;
  bool valid_ = false;
};

/// Context options: `log` is a callable(level, text) or None; `interrupt` a callable() -> bool or None. Signals of the
/// main thread (Ctrl-C) always end a wait.
class ContextArguments : public gradstep_context_options {
 public:
  ContextArguments(PyObject* log, PyObject* interrupt, const char* lapack_path);

 private:
  ObjectRef log_;
  ObjectRef interrupt_;
  std::string lapack_path_;
};

/// Takes the references that the call about to be made will release.
void keep_callables(const gradstep_schedule* schedule);
void keep_callables(const gradstep_context_options* options);

}  // namespace gradstep_python
