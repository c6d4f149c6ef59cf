// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The sums that a rule takes of its operands before a step, over chunks: products in f64, in the lanes and trees of
// square.h.
#pragma once

#include <cstddef>
#include <utility>

#include "cpu/loops.h"
#include "cpu/loops/combine.h"
#include "cpu/loops/rule.h"
#include "cpu/loops/stored_state.h"

namespace gradstep::cpu {
namespace {

/// Writes the factors of the sums' products, of a block.
template <class T, class Rule>
[[gnu::noinline]] void measure_block_as(Rule rule, GradientScale<T> scale, const T* p, const T* g,
                                        const T* const* block_states, std::int64_t count, Scratch<T>* a,
                                        Scratch<T>* b) {
  const T* states[rules::kMaxStates];
  for (int s = 0; s < Rule::kStates; ++s) states[s] = block_states[s];
  GRADSTEP_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) {
    T state[rules::kMaxStates];
    for (int s = 0; s < Rule::kStates; ++s) state[s] = states[s][i];
    T left[rules::kMaxSums];
    T right[rules::kMaxSums];
    rule.measure(p[i], scale(g[i]), state, left, right);
    for (int k = 0; k < Rule::kSums; ++k) {
      a[k].values[i] = left[k];
      b[k].values[i] = right[k];
    }
  }
}

template <class T, class Rule>
rules::Sums measure_chunk(const UpdateItem& item, const Chunk& chunk, const UpdateScalars& scalars) {
  constexpr bool kIsFloat = sizeof(T) == sizeof(float);
  const Rule rule(*item.used != 0 ? item.constants->usual : item.constants->first);
  const GradientScale<T> scale{static_cast<T>(scalars.grad_multiplier), static_cast<T>(scalars.clip_bound)};
  DotLanes lanes[rules::kMaxSums][kStreams];
  Scratch<T> p_scratch;
  Scratch<T> g_scratch;
  Scratch<T> state_scratch[Rule::kStates > 0 ? Rule::kStates : 1];
  Scratch<T> a[rules::kMaxSums];
  Scratch<T> b[rules::kMaxSums];
  for_each_block(chunk.length, [&](std::int64_t first, std::int64_t count, std::int64_t stream) {
    const std::int64_t begin = chunk.offset + first;
    const T* p = nullptr;
    if constexpr (kIsFloat) {
      if (item.master != nullptr) {
        follow_host(item, begin, count);
        p = item.master + begin;
      }
    }
    if (p == nullptr) p = read(item.param, begin, count, p_scratch.values);
    const T* g = read(item.gradient, begin, count, g_scratch.values);
    const T* states[rules::kMaxStates];
    for (int s = 0; s < Rule::kStates; ++s) {
      states[s] = static_cast<const T*>(item.states[s]) + begin;
      if constexpr (kIsFloat) {
        if (is_native(item, s)) continue;
        load_state(item, s, begin, count, state_scratch[s].values);
        states[s] = state_scratch[s].values;
      }
    }
    measure_block_as<T>(rule, scale, p, g, states, count, a, b);
    for (int k = 0; k < Rule::kSums; ++k) lanes[k][stream].add(a[k].values, b[k].values, count);
  });
  rules::Sums sums;
  for (int k = 0; k < Rule::kSums; ++k) sums.of[k] = fold_streams(lanes[k]);
  return sums;
}

template <class T, class Rule>
constexpr Loops::Measure measure_of() {
  if constexpr (Rule::kSums > 0) return measure_chunk<T, Rule>;
  return nullptr;
}

template <std::size_t... kIds>
constexpr void fill_measure_table(std::index_sequence<kIds...>, Loops& loops) {
  ((loops.measure[kIds][0] = measure_of<float, rules::KernelOf<kIds, float>>(),
    loops.measure[kIds][1] = measure_of<double, rules::KernelOf<kIds, double>>()),
   ...);
}

}  // namespace
}  // namespace gradstep::cpu
