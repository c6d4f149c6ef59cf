// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// NVIDIA's libraries, opened when they are first needed: a program that never needs one does not have to have it.
#pragma once

#include <span>
#include <string>

namespace gradstep::cuda {

// shared_library.cpp; the emulated device has its own.
/// By soname or path; NULL, and why in `reason`, if there is none.
void* open_shared_library(const char* name, std::string& reason);
/// NULL unless the process has one of this soname.
void* find_loaded_library(const char* soname);
/// Where it was loaded from; "" if that is unknown.
std::string folder_of_library(void* library);
/// NULL if it is not there.
void* find_symbol(void* library, const char* name);

class Library {
 public:
  /// The first of `sonames` that the process has, or else the first that can be opened: in one of `folders`, or by its
  /// name alone; "" is no folder. It stays open until the process ends. Throws BACKEND_UNAVAILABLE, with what needs it.
  Library(const char* name, const char* needed_by, std::span<const char* const> sonames,
          std::span<const std::string> folders = {});

  const std::string& soname() const { return soname_; }
  std::string folder() const { return folder_of_library(library_); }
  /// Throws BACKEND_UNAVAILABLE if there is no such function.
  template <class Function>
  void find(Function*& function, const char* symbol) const {
    function = reinterpret_cast<Function*>(find(symbol));
  }
  /// NULL if there is no such function, as in older releases.
  template <class Function>
  void find_if_there(Function*& function, const char* symbol) const {
    function = reinterpret_cast<Function*>(find_symbol(library_, symbol));
  }

 private:
  void* find(const char* symbol) const;

  const char* name_;
  std::string soname_;
  void* library_ = nullptr;
};

}  // namespace gradstep::cuda
