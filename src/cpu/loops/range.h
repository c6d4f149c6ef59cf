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

/// Infinite or NaN: all bits of the exponent are set.
template <class Bits>
[[gnu::noinline]] std::int64_t count_exponent(const Bits* x, std::int64_t count, Bits exponent) {
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < count; ++i) found += (x[i] & exponent) == exponent ? 1 : 0;
  return found;
}

std::int64_t count_nonfinite_piece(const Array& data, std::int64_t begin, std::int64_t length) {
  switch (data.dtype) {
    case DType::f64:
      return count_exponent(static_cast<const std::uint64_t*>(data.data) + begin, length,
                            std::uint64_t{0x7ff0000000000000U});
    case DType::f16:
      return count_exponent(static_cast<const std::uint16_t*>(data.data) + begin, length, std::uint16_t{0x7c00U});
    case DType::bf16:
      return count_exponent(static_cast<const std::uint16_t*>(data.data) + begin, length, std::uint16_t{0x7f80U});
    default:
      return count_exponent(static_cast<const std::uint32_t*>(data.data) + begin, length, std::uint32_t{0x7f800000U});
  }
}

}  // namespace
}  // namespace gradstep::cpu
