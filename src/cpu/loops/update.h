// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The update rules over chunks: each rule once in f32 and once in f64, in place or into a buffer of deltas.
#pragma once

#include "cpu/loops.h"
#include "cpu/loops/block.h"

namespace gradstep::cpu {
namespace {

template <class T>
struct GradientScale {
  T multiplier;
  T bound;
  GRADSTEP_FORMULA T operator()(T g) const { return kernels::clamp(g * multiplier, bound); }
};

/// out[i] = p[i] + delta, or delta alone. `out` may be `p` or `g` exactly. States are those of the chunk.
template <bool kAddToParam, class T, class Rule>
GRADSTEP_FORMULA void run_rule(Rule rule, GradientScale<T> scale, T* out, const T* p, const T* g, T* const* states,
                               std::int64_t first, std::int64_t count) {
  T* block_states[kernels::kMaxStates];
  for (int s = 0; s < Rule::kStates; ++s) block_states[s] = states[s] + first;
  GRADSTEP_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) {
    T state[kernels::kMaxStates];
    for (int s = 0; s < Rule::kStates; ++s) state[s] = block_states[s][i];
    const T delta = rule(p[i], scale(g[i]), state);
    for (int s = 0; s < Rule::kStates; ++s) block_states[s][i] = state[s];
    out[i] = kAddToParam ? p[i] + delta : delta;
  }
}

template <class T, class Rule>
void update_chunk(const UpdateItem& item, const Chunk& chunk, double grad_multiplier, double clip_bound) {
  const Rule rule(*static_cast<const typename Rule::Constants*>(item.constants));
  const GradientScale<T> scale{static_cast<T>(grad_multiplier), static_cast<T>(clip_bound)};
  T* states[kernels::kMaxStates];
  for (int s = 0; s < Rule::kStates; ++s) states[s] = static_cast<T*>(item.states[s]) + chunk.offset;

  const bool in_place = item.update.data == nullptr;
  const Array& target = in_place ? item.param : item.update;
  T* out = direct<T>(target, chunk.offset);
  const T* p = direct<T>(item.param, chunk.offset);
  const T* g = direct<T>(item.gradient, chunk.offset);
  if (in_place && out != nullptr && g != nullptr) {
    for_each_block(chunk.length, [&](std::int64_t first, std::int64_t count, std::int64_t) {
      run_rule<true>(rule, scale, out + first, out + first, g + first, states, first, count);
    });
    return;
  }

  Scratch<T> out_scratch;
  Scratch<T> p_scratch;
  Scratch<T> g_scratch;
  for_each_block(chunk.length, [&](std::int64_t first, std::int64_t count, std::int64_t) {
    const std::int64_t begin = chunk.offset + first;
    const T* p_block = p != nullptr ? p + first : load(item.param, begin, count, p_scratch.values);
    const T* g_block = g != nullptr ? g + first : load(item.gradient, begin, count, g_scratch.values);
    T* out_block = out != nullptr ? out + first : out_scratch.values;
    if (in_place) {
      run_rule<true>(rule, scale, out_block, p_block, g_block, states, first, count);
    } else {
      run_rule<false>(rule, scale, out_block, p_block, g_block, states, first, count);
    }
    if (out == nullptr) store(target, begin, count, out_block);
  });
}

/// Fills the rows of Loops::update in the order of the list.
template <template <class> class... Rules>
constexpr void fill_update_table(kernels::RuleListOf<Rules...>, Loops& loops) {
  int row = 0;
  ((loops.update[row][0] = update_chunk<float, Rules<float>>,
    loops.update[row][1] = update_chunk<double, Rules<double>>, ++row),
   ...);
}

}  // namespace
}  // namespace gradstep::cpu
