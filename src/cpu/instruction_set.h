// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Which compiled loops run here.
#pragma once

#include "cpu/linear_algebra/arithmetic.h"
#include "cpu/loops.h"

namespace gradstep::cpu {

/// The best table that this processor can run, at most the one that GRADSTEP_INSTRUCTION_SET names. Throws
/// INVALID_ARGUMENT for a value that names none.
const Loops& choose_loops();

/// Shampoo's loops for the same choice. The loops of AVX2, AVX-512 and NEON give the same bits and have one name.
const Arithmetic& choose_arithmetic(const Loops& loops);

}  // namespace gradstep::cpu
