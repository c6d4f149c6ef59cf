// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "python_object.h"

namespace gradstep_python {

/// A memoryview for the length of one callback.
class LentView {
 public:
  LentView(void* data, std::int64_t bytes, const char* format) : view_(make(data, bytes, PyBUF_WRITE, format)) {}
  LentView(const void* data, std::int64_t bytes) : view_(make(const_cast<void*>(data), bytes, PyBUF_READ, nullptr)) {}
  LentView(const LentView&) = delete;
  LentView& operator=(const LentView&) = delete;
  ~LentView() {
    if (!view_) return;
    const ObjectRef released = call_method(view_.get(), "release", nullptr);
    if (!released) PyErr_Clear();  // an array that still uses the view forbids it
  }

  PyObject* get() const { return view_.get(); }

 private:
  static ObjectRef make(void* data, std::int64_t bytes, int flags, const char* format) {
    static char nothing = 0;  // a memoryview of no bytes needs an address all the same
    ObjectRef bytes_view(PyMemoryView_FromMemory(data != nullptr ? static_cast<char*>(data) : &nothing,
                                                 static_cast<Py_ssize_t>(bytes), flags));
    if (!bytes_view || format == nullptr) return bytes_view;
    return call_method(bytes_view.get(), "cast", "s", format);
  }

  ObjectRef view_;
};

}  // namespace gradstep_python
