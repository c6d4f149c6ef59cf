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

/// What this rank's part of a sharded optimizer has use for in a file, where its tensors' keys begin with `prefix`;
/// none of whole parameters that are not sharded, which take all.
TensorParts own_parts(Optimizer& optimizer, const std::string& prefix);

/// Checks everything; what it returns takes the state over, and fails only where the device does. A sharded optimizer
/// takes its own slices,
/// of which the file has own_parts() at least.
std::function<void()> load_optimizer(LoadedPart& part, Optimizer& optimizer);

}  // namespace gradstep
