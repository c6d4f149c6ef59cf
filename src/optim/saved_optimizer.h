// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// An optimizer's state as a part of a file: one tensor "<parameter>/<state>" for each that it keeps, in the form that
// it is kept in, and its counters. Neither depends on the number of ranks or threads.
#pragma once

#include <functional>

#include "core/state_part.h"
#include "optim/optimizer.h"

namespace gradstep {

/// The part shows the optimizer's own buffers. Collective if it is sharded: every rank walks through the tensors.
SavedPart save_optimizer(Optimizer& optimizer);

/// Checks everything; what it returns takes the state over, and fails only where the device does. A sharded optimizer
/// takes its own slices.
std::function<void()> load_optimizer(LoadedPart& part, Optimizer& optimizer);

}  // namespace gradstep
