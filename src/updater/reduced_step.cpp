// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "updater/reduced_step.h"

namespace gradstep {

bool step_reduced(Optimizer& optimizer, Reducer* reducer, const StepBuffers& buffers, StepGuards guards,
                  bool is_agreed) {
  const bool in_slices = reducer != nullptr && reducer->layout().is_dealt();
  const bool needs_norm = guards.max_norm > 0 || guards.skip_nonfinite;
  if (guards.norm == nullptr && reducer != nullptr && !in_slices && needs_norm) guards.norm = reducer->norm();
  if (optimizer.is_sharded()) {
    // The reducer has done what a sharded step would do with gradients of its own.
    GradientExchange reduced = optimizer.sharding()->default_exchange();
    reduced.gradients = GRADSTEP_SHARDED_GRADIENTS_REDUCED;
    reduced.in_slices = in_slices;
    reduced.is_agreed = is_agreed && optimizer.sharding()->comm().world_size() == reducer->comm().world_size();
    return optimizer.step_sharded(buffers, guards, reduced).applied;
  }
  const bool applied = optimizer.step(buffers, guards).applied;
  // A device decides by itself, and is asked only where something depends on it here.
  const bool asks = applied && guards.skip_nonfinite && !optimizer.site().is_host() && reducer != nullptr &&
                    reducer->layout().has_memory();
  return asks ? optimizer.last_outcome().applied : applied;
}

}  // namespace gradstep
