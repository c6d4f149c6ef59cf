// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The CPU's Preconditioning. A block is one task: its gradient is copied to a thread's scratch, where the dense algebra
// wants its operands, and all that is done with it is done there.
#pragma once

#include <memory>

#include "backend/context.h"
#include "cpu/linear_algebra/arithmetic.h"

namespace gradstep::cpu {

/// `context` outlives it.
std::unique_ptr<Preconditioning> make_preconditioning(Context& context, const Arithmetic& arithmetic);

}  // namespace gradstep::cpu
