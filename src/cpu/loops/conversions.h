// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Numbers that follow each other in memory, from one type to another.
#pragma once

#include "cpu/loops/lanes.h"
#include "kernels/convert.h"

namespace gradstep::cpu {
namespace {

using kernels::BFloat16;
using kernels::Float16;

template <class To, class From>
GRADSTEP_FORMULA void convert_numbers(const From* from, To* to, std::int64_t count) {
  GRADSTEP_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) to[i] = kernels::convert<To>(from[i]);
}

#if defined(__SSE2__)
GRADSTEP_FORMULA void convert_numbers(const float* from, BFloat16* to, std::int64_t count) {
  std::int64_t converted = 0;
  for (; converted + 2 * kWords <= count; converted += 2 * kWords) {
    const Words first = kernels::bfloat16_of(load_words(from + converted));
    const Words second = kernels::bfloat16_of(load_words(from + converted + kWords));
    store_halves(&to[converted].bits, first, second);
  }
  GRADSTEP_INDEPENDENT
  for (std::int64_t i = converted; i < count; ++i) to[i] = kernels::to_bfloat16(from[i]);
}
#endif

#if defined(__AVX2__)
GRADSTEP_FORMULA void convert_numbers(const float* from, Float16* to, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + kWords <= count; i += kWords) store_float16(&to[i].bits, load_floats(from + i));
  for (; i < count; ++i) to[i] = kernels::to_float16(from[i]);
}

GRADSTEP_FORMULA void convert_numbers(const Float16* from, float* to, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + kWords <= count; i += kWords) store_floats(to + i, load_float16(&from[i].bits));
  for (; i < count; ++i) to[i] = kernels::to_float(from[i]);
}
#endif

template <class From, class To>
[[gnu::noinline]] void convert_block(const From* from, To* to, std::int64_t count) {
  convert_numbers(from, to, count);
}

}  // namespace
}  // namespace gradstep::cpu
