// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "callbacks.h"

#include "errors.h"

namespace gradstep_python {

namespace {

void release_object(void* object) {
  if (object == nullptr || !Py_IsInitialized()) return;
  const GilLock lock;
  Py_DECREF(static_cast<PyObject*>(object));
}

gradstep_status call_schedule(void* user, std::int64_t step, double* value) {
  const GilLock lock;
  const ObjectRef result = call(static_cast<PyObject*>(user), "L", static_cast<long long>(step));
  if (!result) return keep_exception();
  *value = PyFloat_AsDouble(result.get());
  return PyErr_Occurred() != nullptr ? keep_exception() : GRADSTEP_OK;
}

// A log sink cannot fail a call: what it raises is reported as Python reports errors of destructors.
void call_log(void* log, std::int32_t level, const char* text) {
  const GilLock lock;
  const ObjectRef result = call(static_cast<PyObject*>(log), "is", static_cast<int>(level), text);
  if (!result) PyErr_WriteUnraisable(static_cast<PyObject*>(log));
}

std::int32_t call_interrupt(void* interrupt) {
  const GilLock lock;
  if (PyErr_CheckSignals() != 0) {
    keep_interrupt();
    return 1;
  }
  if (interrupt == nullptr) return 0;
  const ObjectRef result = call(static_cast<PyObject*>(interrupt), nullptr);
  const int stop = result ? PyObject_IsTrue(result.get()) : -1;
  if (stop < 0) keep_interrupt();
  return stop != 0 ? 1 : 0;
}

}  // namespace

ScheduleArguments::ScheduleArguments(PyObject* schedule_boundaries, PyObject* schedule_values, PyObject* callable)
    : gradstep_schedule{} {
  if (!check_status(gradstep_schedule_init(this, sizeof(gradstep_schedule)))) return;
  if (!read_numbers(schedule_boundaries, PyLong_AsLongLong, &boundaries_)) return;
  if (!read_numbers(schedule_values, PyFloat_AsDouble, &values_)) return;
  if (!values_.empty() && boundaries_.size() + 1 != values_.size()) {
    raise_error(GRADSTEP_ERR_INVALID_ARGUMENT, "piecewise: " + std::to_string(values_.size()) + " values need " +
                                                   std::to_string(values_.size() - 1) + " boundaries, found " +
                                                   std::to_string(boundaries_.size()));
    return;
  }
  n_points = static_cast<std::int32_t>(values_.size());
  boundaries = boundaries_.data();
  values = values_.data();
  if (callable != Py_None) {
    function_ = ObjectRef::borrow(callable);
    function = call_schedule;
    user = callable;
    release = release_object;
  }
  valid_ = true;
}

ContextArguments::ContextArguments(PyObject* log_callable, PyObject* interrupt_callable, const char* lapack_path)
    : gradstep_context_options{} {
  gradstep_context_options_init(this, sizeof(gradstep_context_options));
  if (lapack_path != nullptr) {
    lapack_path_ = lapack_path;
    lapack_library = lapack_path_.c_str();
  }
  interrupt = call_interrupt;
  if (interrupt_callable != Py_None) {
    interrupt_ = ObjectRef::borrow(interrupt_callable);
    interrupt_user = interrupt_callable;
    interrupt_release = release_object;
  }
  if (log_callable != Py_None) {
    log_ = ObjectRef::borrow(log_callable);
    log = call_log;
    log_user = log_callable;
    log_release = release_object;
  }
}

void keep_callables(const gradstep_schedule* schedule) {
  if (schedule != nullptr && schedule->release == release_object) Py_XINCREF(static_cast<PyObject*>(schedule->user));
}

void keep_callables(const gradstep_context_options* options) {
  if (options == nullptr) return;
  if (options->interrupt_release == release_object) Py_XINCREF(static_cast<PyObject*>(options->interrupt_user));
  if (options->log_release == release_object) Py_XINCREF(static_cast<PyObject*>(options->log_user));
}

}  // namespace gradstep_python
