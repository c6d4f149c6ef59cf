// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// How loops see their operands. Loops are written for contiguous data of the arithmetic type (f32 or f64). An operand
// that is so already is used in place; any other goes through a block of scratch that stays in the first-level cache:
// converted and, for strided views, gathered on the way in, the reverse on the way out.
//
// A chunk has four streams, each a quarter of it, with partial sums of its own.
//
// Intel's prefetchers stop at the end of a page, so there loops ask for memory beforehand. Steps, sums and squares of
// what lies in memory are faster by it (measured on Emerald Rapids), and in the caches as fast. On Zen 4 f32 steps are
// slower by it.
#pragma once

#include "backend/work_list.h"
#include "core/array.h"
#include "cpu/loops.h"
#include "cpu/loops/lanes.h"
#include "cpu/loops/strided.h"

namespace gradstep::cpu {
namespace {

/// Elements per block: a fraction of a page, and a multiple of the reduction's 16 lanes.
constexpr std::int64_t kBlock = 256;

constexpr std::int64_t kStreams = 4;
constexpr std::int64_t kStreamLength = kChunk / kStreams;
static_assert(kStreamLength % kBlock == 0);

template <class T>
struct Scratch {
  alignas(64) T values[kBlock];
};

template <class T>
constexpr DType kDType = DType::f32;
template <>
constexpr DType kDType<double> = DType::f64;

/// body(first element, elements, stream) for every block of a chunk of `length` elements.
template <class Body>
GRADSTEP_FORMULA void for_each_block(std::int64_t length, Body body) {
  for (std::int64_t first = 0; first < length; first += kBlock) {
    std::int64_t count = smaller(kBlock, length - first);
    asm("" : "+r"(count));  // a compiler that knows how short blocks are unrolls every loop over them to the end
    body(first, count, first / kStreamLength);
  }
}

constexpr std::int64_t kAhead = 512;  ///< elements from those in use to those that are asked for

/// Asks for the `count` elements that come `ahead` elements after those at `from`. None of them has to be there: their
/// addresses alone are computed.
template <class T>
GRADSTEP_FORMULA void fetch_ahead(const T* from, std::int64_t count, std::int64_t ahead = kAhead) {
  constexpr auto kLine = static_cast<std::int64_t>(64 / sizeof(T));
  for (std::int64_t i = 0; i < count; i += kLine) __builtin_prefetch(from + ahead + i);
}

/// fetch_ahead() where the processor's own prefetchers need it.
template <class T>
GRADSTEP_FORMULA void help_prefetcher(const T* from, std::int64_t count, std::int64_t ahead = kAhead) {
  if (kHelpsPrefetchers) fetch_ahead(from, count, ahead);
}

/// body(pointer of the element type) for the dtype of floats.
template <class Body>
GRADSTEP_FORMULA void with_float_type(DType dtype, void* data, Body body) {
  switch (dtype) {
    case DType::f16:
      return body(static_cast<Float16*>(data));
    case DType::bf16:
      return body(static_cast<BFloat16*>(data));
    case DType::f64:
      return body(static_cast<double*>(data));
    default:
      return body(static_cast<float*>(data));
  }
}

/// Where elements from `begin` on lie if they are contiguous and of the arithmetic type, else NULL.
template <class T>
GRADSTEP_FORMULA T* direct(const Array& array, std::int64_t begin) {
  const bool is_direct = array.strides == nullptr && array.dtype == kDType<T>;
  return is_direct ? static_cast<T*>(array.data) + begin : nullptr;
}

/// Returns `to`.
template <class T>
[[gnu::noinline]] T* load(const Array& array, std::int64_t begin, std::int64_t count, T* to) {
  with_float_type(array.dtype, array.data, [&](const auto* data) {
    if (array.strides == nullptr) help_prefetcher(data + begin, count);
    gather(array, data, begin, count, to);
  });
  return to;
}

template <class T>
[[gnu::noinline]] void store(const Array& array, std::int64_t begin, std::int64_t count, const T* from) {
  with_float_type(array.dtype, array.data, [&](auto* data) { scatter(array, data, begin, count, from); });
}

/// Elements from `begin` on, in place or else in `scratch`.
template <class T>
GRADSTEP_FORMULA const T* read(const Array& array, std::int64_t begin, std::int64_t count, T* scratch) {
  if (const T* in_place = direct<T>(array, begin)) {
    help_prefetcher(in_place, count);
    return in_place;
  }
  return load(array, begin, count, scratch);
}

}  // namespace
}  // namespace gradstep::cpu
