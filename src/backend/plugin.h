// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The private border between libgradstep and its plugins: plain structs and function pointers, no std:: types and no
// exceptions across. Both sides are built from the same source; another build id is refused.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gradstep/comm.h"

#define GRADSTEP_PLUGIN_ENTRY "gradstep_plugin_entry"

extern "C" {

/// What the library lends to a plugin. Valid for the life of the process.
struct gradstep_plugin_host_api {
  std::uint32_t struct_size;
  std::uint32_t reserved;
  /// The calling thread's error text.
  void (*set_error)(const char* text);
};

/// How an engine's ranks tell each other their addresses. Valid during connect. A status comes with the thread's error
/// text in place.
struct gradstep_plugin_rendezvous {
  std::uint32_t struct_size;
  std::uint32_t reserved;
  void* user;
  /// own holds world_size addresses of `length` bytes, one for each rank; theirs receives as many: the address of each
  /// rank for this one. The entries of the own rank mean nothing.
  gradstep_status (*meet)(void* user, const char* own, std::size_t length, char* theirs, std::int64_t timeout_ms);
  /// To be called every few milliseconds while connecting; a failure ends it.
  gradstep_status (*poll)(void* user);
};

/// An engine connects `options.rank` of `options.world_size` by means of `rendezvous` and fills *vtable and *user, to
/// be released by vtable->release. Returns a status with the text in set_error; nothing is left behind on failure.
struct gradstep_plugin_engine {
  const char* name;
  gradstep_status (*connect)(const gradstep_comm_options* options, const gradstep_plugin_rendezvous* rendezvous,
                             gradstep_comm_vtable* vtable, void** user);
};

/// What a plugin gives: at most one engine. (A device backend will be a further member.)
struct gradstep_plugin_api {
  std::uint32_t struct_size;
  std::uint32_t reserved;
  const gradstep_plugin_engine* engine;  // may be NULL
};

/// Returns INVALID_ARGUMENT if build_id is not the plugin's own, and then writes the plugin's into *plugin_build_id.
typedef gradstep_status (*gradstep_plugin_entry_function)(const char* build_id, const gradstep_plugin_host_api* host,
                                                          gradstep_plugin_api* plugin, const char** plugin_build_id);
}
