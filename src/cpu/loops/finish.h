// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The end of a step over chunks: changes that lie aside are scaled, masked and added, in the loops of the update rules.
#pragma once

#include "cpu/loops/update.h"
#include "kernels/finish.h"

namespace gradstep::cpu {
namespace {

template <class T, class Form>
void finish_chunk_as(const UpdateItem& item, const Chunk& chunk, const UpdateScalars& scalars, double factor,
                     double decay) {
  const kernels::ChangeFinish<T, Form> rule{static_cast<T>(factor), static_cast<T>(decay), {}};
  const GradientScale<T> scale{static_cast<T>(scalars.grad_multiplier), static_cast<T>(scalars.clip_bound)};
  T* p = direct<T>(*item.param, chunk.offset);
  const T* g = direct<T>(*item.gradient, chunk.offset);
  if (item.update->data == nullptr && item.master == nullptr && p != nullptr && g != nullptr) {
    return update_plain<T>(rule, scale, item, chunk, p, g);
  }
  update_staged<T>(rule, scale, item, chunk, scalars.step);
}

template <class Form>
void finish_chunk(const UpdateItem& item, const Chunk& chunk, const UpdateScalars& scalars, double factor,
                  double decay) {
  const auto finish = item.param->dtype == DType::f64 ? finish_chunk_as<double, Form> : finish_chunk_as<float, Form>;
  finish(item, chunk, scalars, factor, decay);
}

constexpr void fill_finish_table(Loops& loops) {
  loops.finish[0][0] = finish_chunk<kernels::FixedChangeForm<false, false, false>>;
  loops.finish[0][1] = finish_chunk<kernels::FixedChangeForm<false, true, false>>;
  loops.finish[0][2] = finish_chunk<kernels::FixedChangeForm<false, true, true>>;
  loops.finish[1][0] = finish_chunk<kernels::FixedChangeForm<true, false, false>>;
  loops.finish[1][1] = finish_chunk<kernels::FixedChangeForm<true, true, false>>;
  loops.finish[1][2] = finish_chunk<kernels::FixedChangeForm<true, true, true>>;
}

template <class C, class G>
GRADSTEP_FORMULA std::int64_t count_opposed_block(const C* change, const G* g, std::int64_t count, bool is_negated) {
  std::int32_t opposed = 0;
  std::int32_t aligned = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const bool down = change[i] < 0;
    const bool up = change[i] > 0;
    const bool falls = g[i] < 0;
    const bool rises = g[i] > 0;
    opposed += static_cast<std::int32_t>((down & rises) | (up & falls));
    aligned += static_cast<std::int32_t>((down & falls) | (up & rises));
  }
  return is_negated ? aligned : opposed;
}

template <class T>
[[gnu::noinline]] std::int64_t count_opposed_as(const Array& change, const Array& gradient, const Chunk& chunk,
                                                bool is_negated) {
  std::int64_t opposed = 0;
  Scratch<T> scratch;
  for_each_block(chunk.length, [&](std::int64_t first, std::int64_t count, std::int64_t) {
    const std::int64_t begin = chunk.offset + first;
    const T* g = read(gradient, begin, count, scratch.values);
    const T* changes = static_cast<const T*>(change.data) + begin;
    help_prefetcher(changes, count);
    opposed += count_opposed_block(changes, g, count, is_negated);
  });
  return opposed;
}

std::int64_t count_opposed_chunk(const Array& change, const Array& gradient, const Chunk& chunk, bool is_negated) {
  const auto count = change.dtype == DType::f64 ? count_opposed_as<double> : count_opposed_as<float>;
  return count(change, gradient, chunk, is_negated);
}

}  // namespace
}  // namespace gradstep::cpu
