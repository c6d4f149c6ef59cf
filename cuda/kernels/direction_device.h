// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/block.h"
#include "kernels/blocks.h"
#include "rules/shampoo.h"

namespace gradstep::cuda {

/// The direction of g at element i of a tensor, whose states take g in.
template <class Rule>
GRADSTEP_DEVICE float direct(const Block& block, const Rule& rule, const TensorItem& tensor, float g, std::int64_t i) {
  float* const states[] = {Rule::kStates == 2 ? tensor.exp_avg : tensor.statistics, tensor.statistics};
  float state[2];
  for (int s = 0; s < Rule::kStates; ++s) state[s] = block.load(states[s] + i);
  const float direction = rule(g, g, state);
  for (int s = 0; s < Rule::kStates; ++s) block.store(states[s] + i, state[s]);
  return direction;
}

}  // namespace gradstep::cuda
