// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <link.h>

#include <filesystem>

#include "libraries/library.h"

namespace gradstep::cuda {

void* open_shared_library(const char* name, std::string& reason) {
  void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* text = dlerror();
    reason = text != nullptr ? text : name;
  }
  return library;
}

void* find_loaded_library(const char* soname) { return dlopen(soname, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD); }

std::string folder_of_library(void* library) {
  const link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) return "";
  return std::filesystem::path(map->l_name).parent_path();
}

void* find_symbol(void* library, const char* name) { return dlsym(library, name); }

}  // namespace gradstep::cuda
