// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Python strings as const char* arguments of one call. C text ends at its first NUL: a string that has one would be
// another name or another file, so it is refused.
#pragma once

#include <string>

#include "python_object.h"

namespace gradstep_python {

/// Copies the UTF-8 of a str. False with a Python error that begins with `label`, such as "names[3]": TypeError, or
/// InvalidArgument for a NUL or a surrogate.
bool read_text(PyObject* object, const std::string& label, std::string* text);

/// A name or a path; None stands for NULL.
class TextArgument {
 public:
  bool convert(PyObject* object, const char* name);
  /// In the encoding of the file system: undecodable bytes of a path (os.fsdecode) become what they were.
  bool convert_path(PyObject* object, const char* name);
  const char* get() const { return given_ ? text_.c_str() : nullptr; }

 private:
  bool given_ = false;
  std::string text_;
};

}  // namespace gradstep_python
