// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Finding large elements by their keys (kernels/magnitude.h): an element is above `key` if its own is at least that.
#pragma once

#include "cpu/loops/block.h"
#include "kernels/magnitude.h"

namespace gradstep::cpu {
namespace {

using kernels::kMagnitude;

template <class Bits>
[[gnu::noinline]] std::int64_t count_keys(const Bits* x, std::int64_t count, Bits key) {
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < count; ++i) found += (x[i] & kMagnitude<Bits>) >= key ? 1 : 0;
  return found;
}

/// Rows of 16 are looked at as a whole first: few of them hold anything when little is selected.
template <class Bits>
[[gnu::noinline]] std::int64_t find_keys(const Bits* x, std::int64_t count, Bits key, std::int32_t first,
                                         std::int32_t* indices) {
  constexpr std::int64_t kRow = 16;
  std::int64_t found = 0;
  std::int64_t i = 0;
  for (; i + kRow <= count; i += kRow) {
    Bits any = 0;
    for (std::int64_t j = 0; j < kRow; ++j) any |= static_cast<Bits>((x[i + j] & kMagnitude<Bits>) >= key ? 1 : 0);
    if (any == 0) continue;
    for (std::int64_t j = 0; j < kRow; ++j) {
      if ((x[i + j] & kMagnitude<Bits>) >= key) indices[found++] = first + static_cast<std::int32_t>(i + j);
    }
  }
  for (; i < count; ++i) {
    if ((x[i] & kMagnitude<Bits>) >= key) indices[found++] = first + static_cast<std::int32_t>(i);
  }
  return found;
}

template <class Bits>
[[gnu::noinline]] void count_digits(const Bits* x, std::int64_t count, int shift, std::int64_t* counts) {
  for (std::int64_t i = 0; i < count; ++i) ++counts[(x[i] & kMagnitude<Bits>) >> shift];
}

/// body(data as the integers that its bits are).
template <class Body>
GRADSTEP_FORMULA auto with_bits(const Array& data, std::int64_t begin, Body body) {
  return data.dtype == DType::f64 ? body(static_cast<const std::uint64_t*>(data.data) + begin)
                                  : body(static_cast<const std::uint32_t*>(data.data) + begin);
}

std::int64_t count_above_piece(const Array& data, std::int64_t begin, std::int64_t length, std::uint64_t key) {
  return with_bits(data, begin,
                   [=]<class Bits>(const Bits* x) { return count_keys(x, length, static_cast<Bits>(key)); });
}

std::int64_t find_above_piece(const Array& data, std::int64_t begin, std::int64_t length, std::uint64_t key,
                              std::int32_t first, std::int32_t* indices) {
  return with_bits(data, begin, [=]<class Bits>(const Bits* x) {
    return find_keys(x, length, static_cast<Bits>(key), first + static_cast<std::int32_t>(begin), indices);
  });
}

void histogram_piece(const Array& data, std::int64_t begin, std::int64_t length, int shift, std::int64_t* counts) {
  with_bits(data, begin, [=](const auto* x) { count_digits(x, length, shift, counts); });
}

}  // namespace
}  // namespace gradstep::cpu
