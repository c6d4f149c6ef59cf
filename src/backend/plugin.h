// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The private border between libgradstep and its plugins: plain structs and function pointers, no std:: types and no
// exceptions across. Both sides are built from the same source; another build id is refused.
#pragma once

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

/// An engine connects `options.rank` of `options.world_size` through `store` and fills *vtable and *user, to be
/// released by vtable->release. Returns a status with the text in set_error; nothing is left behind on failure.
struct gradstep_plugin_engine {
  const char* name;
  gradstep_status (*connect)(const gradstep_comm_options* options, const gradstep_store* store,
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
