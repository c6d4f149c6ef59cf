// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The border between our engines, which throw, and the functions of the C vtable that they fill.
#pragma once

#include "core/error.h"
#include "gradstep/comm.h"

namespace gradstep {

/// The body of a vtable function: its exceptions become a status and the thread's text.
template <class Body>
gradstep_status as_callback(Body&& body) noexcept {
  try {
    body();
    return GRADSTEP_OK;
  } catch (...) {
    return translate_exception();
  }
}

/// A vtable with only the place in the world filled in.
inline gradstep_comm_vtable empty_vtable(std::int32_t rank, std::int32_t world_size, bool any_thread) {
  gradstep_comm_vtable vtable{};
  vtable.struct_size = sizeof vtable;
  vtable.rank = rank;
  vtable.world_size = world_size;
  vtable.any_thread = any_thread ? 1 : 0;
  return vtable;
}

}  // namespace gradstep
