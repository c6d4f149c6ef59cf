// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Keeping numbers in range, and counting those that have left it.
#pragma once

#include "cpu/loops/block.h"

namespace gradstep::cpu {
namespace {

template <class T>
[[gnu::noinline]] void clamp_numbers(T* x, std::int64_t count, T bound) {
  GRADSTEP_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) x[i] = kernels::clamp(x[i], bound);
}

void clamp_piece(const Array& data, std::int64_t begin, std::int64_t length, double bound) {
  if (data.dtype == DType::f64) return clamp_numbers(static_cast<double*>(data.data) + begin, length, bound);
  clamp_numbers(static_cast<float*>(data.data) + begin, length, static_cast<float>(bound));
}

template <class T>
[[gnu::noinline]] std::int64_t count_nonfinite_of(const void* data, std::int64_t begin, std::int64_t count) {
  const auto* x = static_cast<const kernels::BitsOf<T>*>(data) + begin;
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < count; ++i) found += kernels::is_nonfinite<T>(x[i]) ? 1 : 0;
  return found;
}

std::int64_t count_nonfinite_piece(const Array& data, std::int64_t begin, std::int64_t length) {
  switch (data.dtype) {
    case DType::f64:
      return count_nonfinite_of<double>(data.data, begin, length);
    case DType::f16:
      return count_nonfinite_of<Float16>(data.data, begin, length);
    case DType::bf16:
      return count_nonfinite_of<BFloat16>(data.data, begin, length);
    default:
      return count_nonfinite_of<float>(data.data, begin, length);
  }
}

}  // namespace
}  // namespace gradstep::cpu
