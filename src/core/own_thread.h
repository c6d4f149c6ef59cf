// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gradstep {

/// True on a thread that gradstep started to make calls of a communicator. Only the host's collectives and its
/// allocator may run there.
inline thread_local bool on_own_thread = false;

}  // namespace gradstep
