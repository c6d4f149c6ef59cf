// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "python_object.h"

#include <chrono>
#include <thread>

namespace gradstep_python {

namespace {

// Whether Python knows this thread by a GilLock alone.
thread_local bool is_foreign = false;

// Whether Python has called this library on this thread.
thread_local bool is_of_python = false;

/// Returns whether Python knows nothing of this thread. Its own thread stops here once the interpreter has ended:
/// Python has forgotten it then, and crashes if it asks for the lock.
bool is_unknown_thread() {
  if (is_of_python && Py_IsInitialized() == 0) stop_thread_of_python();
  return PyGILState_GetThisThreadState() == nullptr;
}

}  // namespace

void stop_thread_of_python() {
  if (is_foreign) return;
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

GilLock::GilLock()
    : is_first_(is_unknown_thread()), state_(stopping_at_exit([this] {
        is_foreign |= is_first_;
        return PyGILState_Ensure();
      })) {}

GilRelease::GilRelease() : state_(PyEval_SaveThread()) { is_of_python = !is_foreign; }

GilLock::~GilLock() {
  PyGILState_Release(state_);
  if (is_first_) is_foreign = false;
}

std::string text_of(PyObject* object) {
  const ObjectRef text(PyObject_Str(object));
  Py_ssize_t size = 0;
  const char* utf8 = text ? PyUnicode_AsUTF8AndSize(text.get(), &size) : nullptr;
  if (utf8 == nullptr) {
    PyErr_Clear();
    return "?";
  }
  return std::string(utf8, static_cast<std::size_t>(size));
}

std::string type_name_of(PyObject* object) {
  const ObjectRef name(PyType_GetQualName(Py_TYPE(object)));
  if (!name) PyErr_Clear();
  return name ? text_of(name.get()) : "?";
}

ObjectRef optional_attribute(PyObject* object, const char* name) {
  ObjectRef attribute(PyObject_GetAttrString(object, name));
  if (!attribute) PyErr_Clear();
  return attribute;
}

}  // namespace gradstep_python
