// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The CPU implementation of Backend. Loops are compiled once per instruction set and chosen at run time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/context.h"

namespace gradstep::cpu {

/// The backend runs its chunks on `context`, which outlives it.
std::unique_ptr<Backend> make_backend(Context& context);

/// "baseline", "neon", "avx2", "avx512": those that this build has.
std::vector<std::string> compiled_instruction_sets();

/// The best that this processor and GRADSTEP_INSTRUCTION_SET allow. Throws INVALID_ARGUMENT for an unknown value.
std::string chosen_instruction_set();

}  // namespace gradstep::cpu
