// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A step with gradients that are those of all ranks already.
#pragma once

#include "optim/optimizer.h"
#include "reduce/reducer.h"

namespace gradstep {

/// With the gradients of the last window of `reducer`; NULL = those of `buffers`, there are no other ranks. Returns
/// whether parameters were stepped. guards.norm may be that of the gradients, or NULL. `is_agreed`: the ranks of the
/// reducer have compared what a step needs to be equal.
bool step_reduced(Optimizer& optimizer, Reducer* reducer, const StepBuffers& buffers, StepGuards guards,
                  bool is_agreed);

}  // namespace gradstep
