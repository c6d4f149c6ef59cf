// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/context.h"
#include "backend/step.h"
#include "cpu/loops.h"

namespace gradstep::cpu {

/// Takes the scratch that factorize() needs.
void reserve_factored(const FactoredPlan& plan);

/// Gradients become changes by second moments of whole tensors (rules/factoring.h). Threads share the rows of a tensor.
/// Bits do not depend on them.
void factorize(Context& context, const Loops& loops, const FactoredPlan& plan);

}  // namespace gradstep::cpu
