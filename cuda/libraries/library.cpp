// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "libraries/library.h"

#include "core/error.h"

namespace gradstep::cuda {

Library::Library(const char* name, const char* needed_by, std::span<const char* const> sonames,
                 std::span<const std::string> folders)
    : name_(name) {
  for (const char* soname : sonames) {
    soname_ = soname;
    library_ = find_loaded_library(soname);
    if (library_ != nullptr) return;
  }
  std::string reasons;
  for (const char* soname : sonames) {
    soname_ = soname;
    std::string reason;
    for (const std::string& folder : folders) {
      if (folder.empty()) continue;
      library_ = open_shared_library((folder + '/' + soname).c_str(), reason);
      if (library_ != nullptr) return;
    }
    library_ = open_shared_library(soname, reason);
    if (library_ != nullptr) return;
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
