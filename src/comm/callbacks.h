// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The C vtables that our engines fill. Engines throw: every function of a table runs its body in guarded(), of
// core/error.h.
#pragma once

#include "core/error.h"
#include "gradstep/comm.h"

namespace gradstep {

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
