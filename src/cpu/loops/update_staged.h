// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Updates of operands of any kind: strided, of another type than the arithmetic's, into a buffer, with masters.
#pragma once

#include "cpu/loops/rule.h"
#include "cpu/loops/stored_state.h"

namespace gradstep::cpu {
namespace {

/// What cannot be used in place passes through scratch: elements [begin, begin + count), a block or less.
template <class T, class Rule>
[[gnu::noinline]] void update_staged_block(const Rule& rule, GradientScale<T> scale, const UpdateItem& item,
                                           std::int64_t begin, std::int64_t count, std::int64_t step) {
  constexpr bool kIsFloat = sizeof(T) == sizeof(float);
  const bool in_place = item.update->data == nullptr;
  const bool native = !kIsFloat || item.format == StateFormat::native;
  const Array& target = in_place ? *item.param : *item.update;
  Scratch<T> out_scratch;
  Scratch<T> p_scratch;
  Scratch<T> g_scratch;
  Scratch<T> state_scratch[Rule::kStates > 0 ? Rule::kStates : 1];
  T* master = nullptr;
  if constexpr (kIsFloat) {
    if (item.master != nullptr) {
      master = item.master + begin;
      help_prefetcher(master, count);
      follow_host(item, begin, count);
    }
  }
  T* states[rules::kMaxStates];
  for (int s = 0; s < states_of(rule); ++s) {
    states[s] = static_cast<T*>(item.states[s]) + begin;
    if constexpr (kIsFloat) {
      if (!is_native(item, s)) {
        states[s] = state_scratch[s].values;
        load_state(item, s, begin, count, states[s]);
        continue;
      }
    }
    help_prefetcher(states[s], count);
  }
  const T* p = master != nullptr ? master : read(*item.param, begin, count, p_scratch.values);
  const T* g = read(*item.gradient, begin, count, g_scratch.values);
  T* out_in_place = in_place && master != nullptr ? master : direct<T>(target, begin);
  T* out = out_in_place != nullptr ? out_in_place : out_scratch.values;
  if (in_place) {
    run_rule<true>(rule, scale, out, p, g, states, count);
  } else {
    run_rule<false>(rule, scale, out, p, g, states, count);
  }
  if constexpr (kIsFloat) {
    if (item.stochastic) {
      const BlockRounding rounding({item.random_key, step, item.first + begin}, count);
      if (in_place && out == out_scratch.values) rounding.round(target.dtype, 0, out);
      if (item.format == StateFormat::bf16) {
        for (int s = 0; s < states_of(rule); ++s) {
          if (!is_native(item, s)) rounding.round(DType::bf16, 1 + s, states[s]);
        }
      }
    }
    if (!native) store_states(item, states_of(rule), begin, count, states);
  }
  if (out_in_place == nullptr || out_in_place == master) store(target, begin, count, out);
}

}  // namespace
}  // namespace gradstep::cpu
