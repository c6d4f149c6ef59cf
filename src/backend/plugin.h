// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The private border between libgradstep and its plugins. Both sides are built from the same source by the same
// compiler; another build id is refused. Engines are plain structs and function pointers, without std:: types and
// exceptions. A device's backend is the C++ interface itself (backend.h), as a table of functions would say the same
// again with less checking; it throws through the library (`fail` below), so that an error is caught where its type was
// made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "gradstep/comm.h"

namespace gradstep {
class Allocator;
class Backend;
struct Said;
}  // namespace gradstep

#define GRADSTEP_PLUGIN_ENTRY "gradstep_plugin_entry"

extern "C" {

/// What the library lends to a plugin. Valid for the life of the process.
struct gradstep_plugin_host_api {
  std::uint32_t struct_size;
  std::uint32_t reserved;
  /// The calling thread's error text.
  void (*set_error)(const char* text);
  /// Throws the library's own Error. Only below a function of a gradstep_plugin_backend.
  void (*fail)(gradstep_status status, const char* text);
  /// Inside a catch block of a function that an engine's table has: the status of the exception in flight, whose text
  /// becomes the calling thread's.
  gradstep_status (*translate)();
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

/// A reduction that goes round the ranks, each of which adds its data to what comes and passes it on.
struct gradstep_plugin_ring {
  void* data;  ///< of `count` elements, in place
  std::int64_t count;
  std::int64_t element_bytes;
  const std::int32_t* ranks;  ///< all of them, in the order in which they pass it on; equal on all ranks
  void* user;
  /// into = into and `from` reduced, `count` elements of each; `is_last`: all ranks are in it then.
  gradstep_status (*add)(void* user, void* into, const void* from, std::int64_t count, std::int32_t is_last);
};

/// An engine connects `options.rank` of `options.world_size` by means of `rendezvous` and fills *vtable and *user, to
/// be released by vtable->release. Returns a status with the text in set_error; nothing is left behind on failure. An
/// engine of a system that starts its ranks itself takes no rank and no rendezvous (NULL); `native` is then a
/// communicator of that system, or NULL for all ranks.
struct gradstep_plugin_engine {
  const char* name;
  gradstep_status (*connect)(const gradstep_comm_options* options, const gradstep_plugin_rendezvous* rendezvous,
                             const void* native, gradstep_comm_vtable* vtable, void** user);
  /// Collective among all ranks of the channel: gives each group of them a channel of its own, the caller's rank i of
  /// which is rank members[i] here. A rank is in one group, or in none: its count is 0 then, and nothing is filled.
  gradstep_status (*split)(void* user, const std::int32_t* members, std::int32_t count, std::int64_t timeout_ms,
                           gradstep_comm_vtable* vtable, void** group_user);
  /// As gradstep::Engine::Carry; NULL = messages carry nothing but their bytes.
  void (*carry)(void* user, gradstep::Said* said);
  /// As gradstep::Engine::ReduceByRing; NULL = there is none.
  gradstep_status (*reduce_by_ring)(void* user, const gradstep_plugin_ring* ring, std::int64_t timeout_ms);
};

/// A backend for each device of a type.
struct gradstep_plugin_backend {
  std::int32_t device_type;
  std::int32_t reserved;
  /// The caller owns it. `allocator` is the host's, asked for device memory where the host has one. Throws
  /// BACKEND_UNAVAILABLE with the driver's words where there is no such device.
  gradstep::Backend* (*create)(const std::shared_ptr<gradstep::Allocator>& allocator, std::int32_t device_id);
  /// A stream that is ordered with others by events alone. Throws as `create` does; destroying it does not.
  void* (*create_stream)(std::int32_t device_id);
  void (*destroy_stream)(std::int32_t device_id, void* stream);
};

/// An engine of the memory of a type of device, between ranks that are connected already. All throw as `create` does;
/// the functions of the table that they fill do not.
struct gradstep_plugin_device_engine {
  const char* name;
  std::int32_t device_type;
  std::int32_t id_bytes;
  /// Throws BACKEND_UNAVAILABLE where the engine's library or the device is not there.
  void (*prepare)(std::int32_t device_id);
  /// Writes id_bytes bytes, by which ranks find each other once.
  void (*make_id)(void* id);
  /// Collective: connects rank vtable->rank of vtable->world_size, fills the rest of *vtable, and *user. Throws
  /// TIMEOUT.
  void (*connect)(const void* id, std::int32_t device_id, std::int64_t timeout_ms, gradstep_comm_vtable* vtable,
                  void** user);
  /// Makes an engine of a connection that the host has. Throws INVALID_ARGUMENT where it has other ranks.
  void (*wrap)(void* native, std::int32_t device_id, gradstep_comm_vtable* vtable, void** user);
};

/// What a plugin gives; each may be NULL.
struct gradstep_plugin_api {
  std::uint32_t struct_size;
  std::uint32_t reserved;
  const gradstep_plugin_engine* engine;
  const gradstep_plugin_backend* backend;
  const gradstep_plugin_device_engine* device_engine;
};

/// Returns INVALID_ARGUMENT if build_id is not the plugin's own, and then writes the plugin's into *plugin_build_id.
typedef gradstep_status (*gradstep_plugin_entry_function)(const char* build_id, const gradstep_plugin_host_api* host,
                                                          gradstep_plugin_api* plugin, const char** plugin_build_id);
}
