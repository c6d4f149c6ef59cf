// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/context.h"
#include "backend/step.h"
#include "cpu/loops.h"

namespace gradstep::cpu {

/// Takes the scratch that orthogonalize() needs.
void reserve_orthogonal(Context& context, const OrthogonalPlan& plan);

/// Orthogonalizes the plan's matrices by Newton-Schulz iterations. The threads of the context share the products of
/// large matrices, and take small ones one each. Bits depend on neither.
void orthogonalize(Context& context, const Loops& loops, const OrthogonalPlan& plan);

}  // namespace gradstep::cpu
