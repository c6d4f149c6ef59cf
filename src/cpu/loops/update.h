// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The update rules over chunks: each rule once in f32 and once in f64, in place or into a buffer of deltas.
#pragma once

#include <cstddef>
#include <utility>

#include "cpu/loops.h"
#include "cpu/loops/block.h"
#include "cpu/loops/stored_state.h"

namespace gradstep::cpu {
namespace {

template <class T>
struct GradientScale {
  T multiplier;
  T bound;
  GRADSTEP_FORMULA T operator()(T g) const { return kernels::clamp(g * multiplier, bound); }
};

/// out[i] = p[i] + delta, or delta alone. `out` may be `p` or `g` exactly.
template <bool kAddToParam, class T, class Rule>
GRADSTEP_FORMULA void run_rule(const Rule& rule, GradientScale<T> scale, T* out, const T* p, const T* g,
                               T* const* block_states, std::int64_t count) {
  T* states[kernels::kMaxStates];
  for (int s = 0; s < Rule::kStates; ++s) states[s] = block_states[s];
  GRADSTEP_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) {
    T state[kernels::kMaxStates];
    for (int s = 0; s < Rule::kStates; ++s) state[s] = states[s][i];
    const T delta = rule(p[i], scale(g[i]), state);
    for (int s = 0; s < Rule::kStates; ++s) states[s][i] = state[s];
    out[i] = kAddToParam ? p[i] + delta : delta;
  }
}

/// Everything contiguous, of the arithmetic type, and in place.
template <class T, class Rule>
void update_plain(const Rule& rule, GradientScale<T> scale, const UpdateItem& item, const Chunk& chunk, T* p,
                  const T* g) {
  for_each_block(chunk.length, [&](std::int64_t first, std::int64_t count, std::int64_t) {
    T* states[kernels::kMaxStates];
    for (int s = 0; s < Rule::kStates; ++s) states[s] = static_cast<T*>(item.states[s]) + chunk.offset + first;
    run_rule<true>(rule, scale, p + first, p + first, g + first, states, count);
  });
}

/// Anything else: what cannot be used in place passes through scratch.
template <class T, class Rule>
void update_staged(const Rule& rule, GradientScale<T> scale, const UpdateItem& item, const Chunk& chunk,
                   std::int64_t step) {
  constexpr bool kIsFloat = sizeof(T) == sizeof(float);
  const bool in_place = item.update.data == nullptr;
  const bool native = !kIsFloat || item.format == StateFormat::native;
  const Array& target = in_place ? item.param : item.update;
  Scratch<T> out_scratch;
  Scratch<T> p_scratch;
  Scratch<T> g_scratch;
  Scratch<T> state_scratch[Rule::kStates > 0 ? Rule::kStates : 1];
  for_each_block(chunk.length, [&](std::int64_t first, std::int64_t count, std::int64_t) {
    const std::int64_t begin = chunk.offset + first;
    T* master = nullptr;
    if constexpr (kIsFloat) {
      if (item.master != nullptr) {
        follow_host(item, begin, count);
        master = item.master + begin;
      }
    }
    T* states[kernels::kMaxStates];
    for (int s = 0; s < Rule::kStates; ++s) {
      states[s] = native ? static_cast<T*>(item.states[s]) + begin : state_scratch[s].values;
      if constexpr (kIsFloat) {
        if (!native) load_state(item, s, begin, count, states[s]);
      }
    }
    const T* p = master != nullptr ? master : read(item.param, begin, count, p_scratch.values);
    const T* g = read(item.gradient, begin, count, g_scratch.values);
    T* out_in_place = master != nullptr ? master : direct<T>(target, begin);
    T* out = out_in_place != nullptr ? out_in_place : out_scratch.values;
    if (in_place) {
      run_rule<true>(rule, scale, out, p, g, states, count);
    } else {
      run_rule<false>(rule, scale, out, p, g, states, count);
    }
    if constexpr (kIsFloat) {
      const kernels::StepWords words(item.random_key, step, item.first + begin);
      if (in_place && item.stochastic && out == out_scratch.values) {
        round_numbers(target.dtype, out, count, words.stream(0));
      }
      if (!native) store_states<Rule::kStates>(item, begin, count, states, words);
    }
    if (out_in_place == nullptr || master != nullptr) store(target, begin, count, out);
  });
}

template <class T, class Rule>
void update_chunk(const UpdateItem& item, const Chunk& chunk, const UpdateScalars& scalars) {
  const kernels::RuleConstants& constants = *item.used != 0 ? item.constants->usual : item.constants->first;
  const Rule rule(*reinterpret_cast<const typename Rule::Constants*>(constants.bytes));
  const GradientScale<T> scale{static_cast<T>(scalars.grad_multiplier), static_cast<T>(scalars.clip_bound)};
  const bool native = item.format == StateFormat::native || Rule::kStates == 0;
  if (item.update.data == nullptr && item.master == nullptr && native) {
    T* p = direct<T>(item.param, chunk.offset);
    const T* g = direct<T>(item.gradient, chunk.offset);
    if (p != nullptr && g != nullptr) return update_plain<T>(rule, scale, item, chunk, p, g);
  }
  update_staged<T>(rule, scale, item, chunk, scalars.step);
}

template <std::size_t... kIds>
constexpr void fill_update_table(std::index_sequence<kIds...>, Loops& loops) {
  ((loops.update[kIds][0] = update_chunk<float, kernels::RuleIn<kernels::RuleId{kIds}, float>>,
    loops.update[kIds][1] = update_chunk<double, kernels::RuleIn<kernels::RuleId{kIds}, double>>),
   ...);
}

}  // namespace
}  // namespace gradstep::cpu
