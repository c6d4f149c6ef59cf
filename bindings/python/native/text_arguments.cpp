// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "text_arguments.h"

#include "errors.h"

namespace gradstep_python {

namespace {

bool check_is_text(PyObject* object, const std::string& label) {
  if (PyUnicode_Check(object)) return true;
  PyErr_Format(PyExc_TypeError, "%s: expected a str, found %s", label.c_str(), type_name_of(object).c_str());
  return false;
}

/// Takes what an encoder has made of a string: bytes, or a Python error.
bool take_bytes(PyObject* encoded, const std::string& label, std::string* text) {
  const ObjectRef bytes(encoded);
  char* data = nullptr;
  Py_ssize_t size = 0;
  if (!bytes || PyBytes_AsStringAndSize(bytes.get(), &data, &size) != 0) {
    return raise_error_from_current(GRADSTEP_ERR_INVALID_ARGUMENT, label);
  }
  text->assign(data, static_cast<std::size_t>(size));
  const std::size_t nul = text->find('\0');
  if (nul == std::string::npos) return true;
  return raise_error(GRADSTEP_ERR_INVALID_ARGUMENT,
                     label + ": has a NUL character at byte " + std::to_string(nul) + ", expected text without one");
}

}  // namespace

bool read_text(PyObject* object, const std::string& label, std::string* text) {
  return check_is_text(object, label) && take_bytes(PyUnicode_AsUTF8String(object), label, text);
}

bool TextArgument::convert(PyObject* object, const char* name) {
  given_ = object != Py_None;
  return !given_ || read_text(object, name, &text_);
}

bool TextArgument::convert_path(PyObject* object, const char* name) {
  given_ = object != Py_None;
  return !given_ || (check_is_text(object, name) && take_bytes(PyUnicode_EncodeFSDefault(object), name, &text_));
}

}  // namespace gradstep_python
