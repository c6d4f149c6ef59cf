// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/inverse_root.h"

namespace gradstep {

/// Coupled Newton's rungs for an exponent p >= 1, down to kernels::kSmallestRatio. They are made once, and kept.
const kernels::NewtonLadder& newton_ladder(std::int32_t p);

}  // namespace gradstep
