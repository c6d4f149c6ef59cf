// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The CPU's Preconditioning. A block is one task. Blocks of matrices are read and written where they are; those of more
// axes are copied to a thread's scratch, and all that is done with them is done there.
#pragma once

#include <memory>

#include "backend/context.h"
#include "cpu/loops.h"

namespace gradstep::cpu {

/// `context` outlives it.
std::unique_ptr<Preconditioning> make_preconditioning(Context& context, const Loops& loops);

}  // namespace gradstep::cpu
