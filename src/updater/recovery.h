// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// After a failure ranks may be one step apart: everyone takes over the parameters and state of the lowest rank that is
// furthest.
#pragma once

#include "comm/communicator.h"
#include "gradstep/tensor.h"
#include "optim/optimizer.h"

namespace gradstep {

struct Adoption {
  /// Every rank stands at the same place of the same window, and may go on with it.
  bool windows_agree = false;
};

/// Collective. params were checked against the optimizer's schema; `window_pushes` counts the micro-batches of this
/// rank's unapplied window. A rank that was behind takes over a step that has its window in it already, so its window
/// counts as empty. Parameters and state change only when everything has arrived.
Adoption adopt_furthest(Communicator& comm, Optimizer& optimizer, const gradstep_tensor* params, std::size_t n,
                        std::int64_t window_pushes);

}  // namespace gradstep
