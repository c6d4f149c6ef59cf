// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Whether a test would find that a barrier or a fence is missing in a kernel's PTX: each is left out of some of the
// kernel's launches, whose memory is then what it was. It is found if the launch fails, or if another result comes of
// it. GRADSTEP_EMULATED_PTX_LEFT_OUT is a folder, into which each process writes what it has found (../ptx_report).
#pragma once

#include <cstddef>
#include <map>

#include "cuda/ptx/machine.h"

namespace gradstep::emulation {

/// Is the folder named?
bool leaves_out();
/// ptx::run(), and the same without each of its barriers and fences. `memory` is all that it may write, bytes by
/// address.
void run_and_leave_out(const ptx::Launch& launch, const std::map<void*, std::size_t>& memory);

}  // namespace gradstep::emulation
