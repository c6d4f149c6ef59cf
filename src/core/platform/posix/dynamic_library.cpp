// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "core/platform/dynamic_library.h"

#include <dlfcn.h>

namespace gradstep::platform {

#if defined(__APPLE__)
const char* const kLibrarySuffix = ".dylib";
#else
const char* const kLibrarySuffix = ".so";
#endif

void* open_library(const std::string& path) { return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL); }

void close_library(void* library) { dlclose(library); }

std::string library_error() { return dlerror(); }

void* loaded_library(const char* name) { return dlopen(name, RTLD_LAZY | RTLD_NOLOAD); }

void* library_of_process() { return RTLD_DEFAULT; }

void* find_symbol(void* library, const char* name) { return dlsym(library, name); }

std::filesystem::path path_of_library(const void* address) {
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return {};
  return info.dli_fname;
}

}  // namespace gradstep::platform
