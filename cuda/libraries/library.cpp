// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "libraries/library.h"

#include "core/error.h"

namespace gradstep::cuda {

Library::Library(const char* name, const char* needed_by, std::initializer_list<const char*> sonames) : name_(name) {
  std::string reasons;
  for (const char* soname : sonames) {
    std::string reason;
    library_ = open_shared_library(soname, reason);
    if (library_ != nullptr) {
      soname_ = soname;
      return;
    }
    reasons += reasons.empty() ? reason : "; " + reason;
  }
  fail(GRADSTEP_ERR_BACKEND_UNAVAILABLE, "{} needs {}, which cannot be opened: {}", needed_by, name, reasons);
}

void* Library::find(const char* symbol) const {
  void* found = find_symbol(library_, symbol);
  if (found == nullptr) fail(GRADSTEP_ERR_BACKEND_UNAVAILABLE, "{} ({}) has no {}", name_, soname_, symbol);
  return found;
}

}  // namespace gradstep::cuda
