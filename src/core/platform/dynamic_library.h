// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Libraries that are opened while the process runs.
#pragma once

#include <filesystem>
#include <string>

namespace gradstep::platform {

/// What the file names of libraries end in: ".so", ".dylib" or ".dll".
extern const char* const kLibrarySuffix;

/// NULL = it cannot be opened; library_error() says why.
void* open_library(const std::string& path);
void close_library(void* library);
std::string library_error();

/// One that the process has loaded; NULL = none of this name.
void* loaded_library(const char* name);
/// The program, and what it was linked with.
void* library_of_process();

/// NULL = the library has none of this name.
void* find_symbol(void* library, const char* name);

/// The path of the library or program that `address` belongs to; empty = the system does not say.
std::filesystem::path path_of_library(const void* address);

}  // namespace gradstep::platform
