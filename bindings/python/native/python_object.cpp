// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "python_object.h"

namespace gradstep_python {

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
