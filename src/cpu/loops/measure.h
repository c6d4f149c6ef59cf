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
#include "cpu/loops/program.h"
#include "cpu/loops/rule.h"
#include "cpu/loops/stored_state.h"

namespace gradstep::cpu {
namespace {

/// Writes the factors of the sums' products, of a block.
template <class T, class Rule>
[[gnu::noinline]] void measure_block_as(Rule rule, GradientScale<T> scale, const T* p, const T* g,
                                        T* const* block_states, std::int64_t count, Scratch<T>* a, Scratch<T>* b) {
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

/// body(p, g, states, count, stream) for the blocks of a chunk.
template <class T, int kStates, class Body>
GRADSTEP_FORMULA void for_each_measured_block(const UpdateItem& item, const Chunk& chunk, int state_count, Body body) {
  constexpr bool kIsFloat = sizeof(T) == sizeof(float);
  Scratch<T> p_scratch;
  Scratch<T> g_scratch;
  Scratch<T> state_scratch[kStates > 0 ? std::size_t{kStates} : 1];
  for_each_block(chunk.length, [&](std::int64_t first, std::int64_t count, std::int64_t stream) {
    const std::int64_t begin = chunk.offset + first;
    const T* p = nullptr;
    if constexpr (kIsFloat) {
      if (item.master != nullptr) {
        p = item.master + begin;
        help_prefetcher(p, count);
        follow_host(item, begin, count);
      }
    }
    if (p == nullptr) p = read(*item.param, begin, count, p_scratch.values);
    const T* g = read(*item.gradient, begin, count, g_scratch.values);
    T* states[rules::kMaxStates];
    for (int s = 0; s < state_count; ++s) {
      states[s] = static_cast<T*>(item.states[s]) + begin;
      if constexpr (kIsFloat) {
        if (!is_native(item, s)) {
          load_state(item, s, begin, count, state_scratch[s].values);
          states[s] = state_scratch[s].values;
          continue;
        }
      }
      help_prefetcher(states[s], count);
    }
    body(p, g, states, count, stream);
  });
}

template <class T, class Rule>
rules::Sums measure_chunk(const UpdateItem& item, const Chunk& chunk, const UpdateScalars& scalars) {
  const Rule rule(*item.used != 0 ? item.constants->usual : item.constants->first);
  const GradientScale<T> scale{static_cast<T>(scalars.grad_multiplier), static_cast<T>(scalars.clip_bound)};
  DotLanes lanes[std::size_t{Rule::kSums}][kStreams];
  Scratch<T> a[std::size_t{Rule::kSums}];
  Scratch<T> b[std::size_t{Rule::kSums}];
  for_each_measured_block<T, Rule::kStates>(
      item, chunk, Rule::kStates,
      [&](const T* p, const T* g, T* const* states, std::int64_t count, std::int64_t stream) {
        measure_block_as<T>(rule, scale, p, g, states, count, a, b);
        for (int k = 0; k < Rule::kSums; ++k) lanes[k][stream].add(a[k].values, b[k].values, count);
      });
  rules::Sums sums;
  for (int k = 0; k < Rule::kSums; ++k) sums.of[k] = fold_streams(lanes[k]);
  return sums;
}

template <class T>
rules::Sums measure_program_chunk(const UpdateItem& item, const Chunk& chunk, const UpdateScalars& scalars) {
  const ProgramRule<T> rule(item, item.constants->usual);
  const GradientScale<T> scale{static_cast<T>(scalars.grad_multiplier), static_cast<T>(scalars.clip_bound)};
  DotLanes lanes[rules::kMaxSums][kStreams];
  for_each_measured_block<T, rules::kMaxStates>(
      item, chunk, rule.states(),
      [&](const T* p, const T* g, T* const* states, std::int64_t count, std::int64_t stream) {
        rule.measure(scale, p, g, states, count,
                     [&](int sum, const T* a, const T* b) { lanes[sum][stream].add(a, b, count); });
      });
  rules::Sums sums;
  for (int k = 0; k < rule.sums(); ++k) sums.of[k] = fold_streams(lanes[k]);
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
  loops.measure_program[0] = measure_program_chunk<float>;
  loops.measure_program[1] = measure_program_chunk<double>;
}

}  // namespace
}  // namespace gradstep::cpu
