// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "file_stream.h"

#include <cstring>

#include "errors.h"
#include "lent_view.h"

namespace gradstep_python {

namespace {

/// How many of `size` bytes a write() that returned `result` has taken: raw files say it, others take all and may say
/// nothing. 0 with a Python error.
std::size_t taken_by(PyObject* result, std::size_t size) {
  if (result == nullptr) return 0;
  if (result == Py_None) return size;
  const std::size_t taken = PyLong_AsSize_t(result);
  if (PyErr_Occurred() != nullptr) return 0;
  if (taken >= 1 && taken <= size) return taken;
  PyErr_Format(PyExc_OSError, "write: took %zu of %zu bytes", taken, size);
  return 0;
}

gradstep_status write_to_file(void* user, const void* data, std::size_t size) {
  const GilLock lock;
  const char* rest = static_cast<const char*>(data);
  while (size > 0) {
    const LentView view(rest, static_cast<std::int64_t>(size));
    if (view.get() == nullptr) return keep_exception();
    const ObjectRef result = call_method(static_cast<PyObject*>(user), "write", "O", view.get());
    const std::size_t taken = taken_by(result.get(), size);
    if (taken == 0) return keep_exception();
    rest += taken;
    size -= taken;
  }
  return GRADSTEP_OK;
}

gradstep_status read_from_file(void* user, void* data, std::size_t size, std::size_t* got) {
  const GilLock lock;
  const ObjectRef chunk = call_method(static_cast<PyObject*>(user), "read", "n", static_cast<Py_ssize_t>(size));
  Py_buffer view{};
  if (!chunk || PyObject_GetBuffer(chunk.get(), &view, PyBUF_SIMPLE) != 0) return keep_exception();
  const auto length = static_cast<std::size_t>(view.len);
  if (length > 0 && length <= size) std::memcpy(data, view.buf, length);
  PyBuffer_Release(&view);
  if (length > size) {
    PyErr_Format(PyExc_OSError, "read: gave %zu bytes, expected at most %zu", length, size);
    return keep_exception();
  }
  *got = length;
  return GRADSTEP_OK;
}

}  // namespace

const gradstep_stream* FileStream::over(PyObject* file) {
  if (file == Py_None) return nullptr;
  file_ = ObjectRef::borrow(file);
  stream_.struct_size = sizeof stream_;
  stream_.user = file;
  stream_.write = write_to_file;
  stream_.read = read_from_file;
  return &stream_;
}

}  // namespace gradstep_python
