// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The update rules over chunks: each rule once in f32 and once in f64, in place or into a buffer of deltas.
#pragma once

#include <cstddef>
#include <utility>

#include "cpu/loops.h"
#include "cpu/loops/block.h"
#include "cpu/loops/program.h"
#include "cpu/loops/rule.h"
#include "cpu/loops/stored_state.h"
#include "cpu/loops/update_in_registers.h"
#include "cpu/loops/update_staged.h"

namespace gradstep::cpu {
namespace {

/// Everything contiguous, of the arithmetic type, and in place.
template <class T, class Rule>
void update_plain(const Rule& rule, GradientScale<T> scale, const UpdateItem& item, const Chunk& chunk, T* p,
                  const T* g) {
  constexpr std::int64_t kPiece = 64;  // of a block, so that memory is asked for in small portions
  for (std::int64_t first = 0; first < chunk.length; first += kPiece) {
    std::int64_t count = smaller(kPiece, chunk.length - first);
    asm("" : "+r"(count));  // as in for_each_block()
    help_prefetcher(g + first, count);
    help_prefetcher(p + first, count);
    T* states[rules::kMaxStates];
    for (int s = 0; s < states_of(rule); ++s) {
      states[s] = static_cast<T*>(item.states[s]) + chunk.offset + first;
      help_prefetcher(states[s], count);
    }
    run_rule<true>(rule, scale, p + first, p + first, g + first, states, count);
  }
}

/// Anything else.
template <class T, class Rule>
void update_staged(const Rule& rule, GradientScale<T> scale, const UpdateItem& item, const Chunk& chunk,
                   std::int64_t step) {
  for_each_block(chunk.length, [&](std::int64_t first, std::int64_t count, std::int64_t) {
    update_staged_block(rule, scale, item, chunk.offset + first, count, step);
  });
}

template <class T, class Rule>
void update_chunk(const UpdateItem& item, const Chunk& chunk, const UpdateScalars& scalars) {
  const rules::RuleConstants& constants = *item.used != 0 ? item.constants->usual : item.constants->first;
  const Rule rule(constants);
  const GradientScale<T> scale{static_cast<T>(scalars.grad_multiplier), static_cast<T>(scalars.clip_bound)};
  const bool native = item.format == StateFormat::native || Rule::kStates == 0;
  T* p = direct<T>(*item.param, chunk.offset);
  const T* g = direct<T>(*item.gradient, chunk.offset);
  if (item.update->data == nullptr && item.master == nullptr && p != nullptr && g != nullptr) {
    if (native) return update_plain<T>(rule, scale, item, chunk, p, g);
#if defined(__AVX2__)
    if constexpr (sizeof(T) == sizeof(float) && Rule::kStates > 0 && !Rule::kHasExactStates) {
      if (item.format == StateFormat::block_code && item.signed_states == Rule::kSignedStates) {
        return update_coded(rule, scale, item, chunk, p, g, scalars.step);
      }
      if (item.format == StateFormat::bf16 && !item.stochastic)
        return update_narrow(rule, scale, item, chunk, p, g, scalars.step);
    }
#endif
  }
  update_staged<T>(rule, scale, item, chunk, scalars.step);
}

template <class T>
void update_program_chunk(const UpdateItem& item, const Chunk& chunk, const UpdateScalars& scalars) {
  const ProgramRule<T> rule(item, item.constants->usual);
  const GradientScale<T> scale{static_cast<T>(scalars.grad_multiplier), static_cast<T>(scalars.clip_bound)};
  T* p = direct<T>(*item.param, chunk.offset);
  const T* g = direct<T>(*item.gradient, chunk.offset);
  const bool is_plain = item.update->data == nullptr && item.master == nullptr && item.format == StateFormat::native;
  if (!is_plain || p == nullptr || g == nullptr) return update_staged<T>(rule, scale, item, chunk, scalars.step);
  for_each_block(chunk.length, [&](std::int64_t first, std::int64_t count, std::int64_t) {
    // Only the first operations of a block read memory, so that the processor does not see the next one coming.
    fetch_ahead(g + first, count);
    fetch_ahead(p + first, count);
    T* states[rules::kMaxStates];
    for (int s = 0; s < rule.states(); ++s) {
      states[s] = static_cast<T*>(item.states[s]) + chunk.offset + first;
      fetch_ahead(states[s], count);
    }
    run_rule<true>(rule, scale, p + first, p + first, g + first, states, count);
  });
}

template <std::size_t... kIds>
constexpr void fill_update_table(std::index_sequence<kIds...>, Loops& loops) {
  ((loops.update[kIds][0] = update_chunk<float, rules::KernelOf<kIds, float>>,
    loops.update[kIds][1] = update_chunk<double, rules::KernelOf<kIds, double>>),
   ...);
  loops.update_program[0] = update_program_chunk<float>;
  loops.update_program[1] = update_program_chunk<double>;
}

}  // namespace
}  // namespace gradstep::cpu
