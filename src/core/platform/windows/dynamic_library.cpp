// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "core/platform/dynamic_library.h"

#include <windows.h>

#include "core/platform/windows/wide.h"

namespace gradstep::platform {

namespace {

/// Long enough for every path that Windows has.
constexpr DWORD kLongestPath = 32768;

}  // namespace

const char* const kLibrarySuffix = ".dll";

void* open_library(const std::string& path) { return LoadLibraryW(wide(path).c_str()); }

void close_library(void* library) { FreeLibrary(static_cast<HMODULE>(library)); }

std::string library_error() { return last_error_text(); }

void* loaded_library(const char* name) { return GetModuleHandleW(wide(name).c_str()); }

void* library_of_process() { return GetModuleHandleW(nullptr); }

void* find_symbol(void* library, const char* name) {
  return reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(library), name));
}

std::filesystem::path path_of_library(const void* address) {
  HMODULE library = nullptr;
  constexpr DWORD kByAddress = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
  if (GetModuleHandleExW(kByAddress, static_cast<LPCWSTR>(address), &library) == 0) return {};
  std::wstring path(kLongestPath, L'\0');
  path.resize(GetModuleFileNameW(library, path.data(), kLongestPath));
  return path;
}

}  // namespace gradstep::platform
