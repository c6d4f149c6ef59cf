// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "python_object.h"

#include <unistd.h>

namespace gradstep_python {

namespace {

// Whether Python knows this thread by a GilLock alone.
thread_local bool is_foreign = false;

}  // namespace

void stop_thread_of_python() {
  if (is_foreign) return;
  for (;;) pause();
}

GilLock::GilLock()
    : is_first_(PyGILState_GetThisThreadState() == nullptr), state_(stopping_at_exit([this] {
        is_foreign |= is_first_;
        return PyGILState_Ensure();
      })) {}

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
