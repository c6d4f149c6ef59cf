// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A Python file object as the gradstep_stream of one call. What its methods raise comes out of the call as it was.
#pragma once

#include "gradstep/state.h"
#include "python_object.h"

namespace gradstep_python {

class FileStream {
 public:
  FileStream() = default;
  FileStream(const FileStream&) = delete;
  FileStream& operator=(const FileStream&) = delete;

  /// None is NULL: where a save is collective, one rank writes.
  const gradstep_stream* over(PyObject* file);

 private:
  ObjectRef file_;
  gradstep_stream stream_{};
};

}  // namespace gradstep_python
