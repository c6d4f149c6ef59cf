// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// NVIDIA's libraries, opened when they are first needed: whoever never needs one never has to have it. In a process
// that has one already, of its soname, that one is used.
#pragma once

#include <initializer_list>
#include <string>

namespace gradstep::cuda {

// shared_library.cpp; the emulated device has its own.
/// NULL, and why in `reason`, if there is none.
void* open_shared_library(const char* soname, std::string& reason);
/// NULL if it is not there.
void* find_symbol(void* library, const char* name);

class Library {
 public:
  /// The first of `sonames` that can be opened; it stays open until the process ends. Throws BACKEND_UNAVAILABLE, with
  /// what needs it.
  Library(const char* name, const char* needed_by, std::initializer_list<const char*> sonames);

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
