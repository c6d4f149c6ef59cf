// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// An update rule over contiguous numbers of the arithmetic type.
#pragma once

#include "cpu/loops/block.h"
#include "rules/kernels.h"

namespace gradstep::cpu {
namespace {

template <class T>
struct GradientScale {
  T multiplier;
  T bound;
  /// Works on a number or a vector: `bound - V{}` is a vector with `bound` in each place.
  template <class V>
  GRADSTEP_FORMULA V operator()(V g) const {
    return kernels::clamp(g * multiplier, bound - V{});
  }
};

/// How many states a rule has.
template <class Rule>
constexpr int states_of(const Rule& /*rule*/) {
  return Rule::kStates;
}

/// out[i] = p[i] + delta, or delta alone. `out` may be `p` or `g` exactly. `rule` is a copy, which no store can change:
/// so its constants stay in registers.
template <bool kAddToParam, class T, class Rule>
GRADSTEP_FORMULA void run_rule(Rule rule, GradientScale<T> scale, T* out, const T* p, const T* g,
                               T* const* block_states, std::int64_t count) {
  T* states[rules::kMaxStates];
  for (int s = 0; s < Rule::kStates; ++s) states[s] = block_states[s];
  GRADSTEP_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) {
    T state[rules::kMaxStates];
    for (int s = 0; s < Rule::kStates; ++s) state[s] = states[s][i];
    const T delta = rule(p[i], scale(g[i]), state);
    if constexpr (Rule::kWritesStates) {
      for (int s = 0; s < Rule::kStates; ++s) states[s][i] = state[s];
    }
    out[i] = kAddToParam ? p[i] + delta : delta;
  }
}

}  // namespace
}  // namespace gradstep::cpu
