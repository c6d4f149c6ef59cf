// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include "libraries/library.h"

namespace gradstep::cuda {

void* open_shared_library(const char* soname, std::string& reason) {
  void* library = dlopen(soname, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* text = dlerror();
    reason = text != nullptr ? text : soname;
  }
  return library;
}

void* find_symbol(void* library, const char* name) { return dlsym(library, name); }

}  // namespace gradstep::cuda
