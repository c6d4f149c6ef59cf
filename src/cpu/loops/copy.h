// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Copies between any dtypes and strides, scaled on the way if wanted. Without a scale, equal dtypes keep every bit.
#pragma once

#include "cpu/loops/stored_state.h"
#include "cpu/loops/stream.h"

namespace gradstep::cpu {
namespace {

template <class T>
GRADSTEP_FORMULA void zero_block(T* to, std::int64_t count) {
  __builtin_memset(to, 0, static_cast<std::size_t>(count) * sizeof(T));
}

template <class Word>
void copy_bits(const CopyItem& item, const Chunk& chunk) {
  Word* to = static_cast<Word*>(item.destination.data);
  const Word* from = static_cast<const Word*>(item.source.data);
  if (item.destination.strides == nullptr && item.source.strides == nullptr) {
    copy_block(to + chunk.offset, from + chunk.offset, chunk.length);
    return;
  }
  if (item.destination.strides == nullptr) {
    return gather(item.source, from, chunk.offset, chunk.length, to + chunk.offset);
  }
  if (item.source.strides == nullptr) {
    return scatter(item.destination, to, chunk.offset, chunk.length, from + chunk.offset);
  }
  Scratch<Word> scratch;
  for_each_block(chunk.length, [&](std::int64_t first, std::int64_t count, std::int64_t) {
    gather(item.source, from, chunk.offset + first, count, scratch.values);
    scatter(item.destination, to, chunk.offset + first, count, scratch.values);
  });
}

void copy_same_dtype(const CopyItem& item, const Chunk& chunk) {
  switch (item.source.dtype) {
    case DType::u8:
      return copy_bits<std::uint8_t>(item, chunk);
    case DType::f16:
    case DType::bf16:
      return copy_bits<std::uint16_t>(item, chunk);
    case DType::f32:
    case DType::i32:
      return copy_bits<std::uint32_t>(item, chunk);
    case DType::f64:
    case DType::i64:
      return copy_bits<std::uint64_t>(item, chunk);
  }
}

template <class T>
[[gnu::noinline]] void scale_block(T* to, const T* from, std::int64_t count, T multiplier, T divisor) {
  if (divisor == T{1}) {
    GRADSTEP_INDEPENDENT
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[i] * multiplier;
  } else {
    GRADSTEP_INDEPENDENT
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[i] * multiplier / divisor;
  }
}

template <class T>
void copy_arithmetic(const CopyItem& item, const Chunk& chunk, T multiplier, T divisor) {
  const bool scaled = multiplier != T{1} || divisor != T{1};
  Scratch<T> from_scratch;
  Scratch<T> to_scratch;
  for_each_block(chunk.length, [&](std::int64_t first, std::int64_t count, std::int64_t) {
    const std::int64_t begin = chunk.offset + first;
    T* in_place = direct<T>(item.destination, begin);
    if (in_place != nullptr) help_prefetcher(in_place, count);
    T* to = in_place != nullptr ? in_place : to_scratch.values;
    const T* from = from_scratch.values;
    if (item.source.data == nullptr) {
      zero_block(from_scratch.values, count);
    } else {
      from = read(item.source, begin, count, from_scratch.values);
    }
    if (scaled) {
      scale_block(to, from, count, multiplier, divisor);
      from = to;
    }
    if (in_place == nullptr) {
      if constexpr (sizeof(T) == sizeof(float)) {
        if (item.rounding.is_random()) {
          if (from != to) copy_block(to, from, count);
          BlockRounding(item.rounding.bits(begin), count).round(item.destination.dtype, 0, to);
          from = to;
        }
      }
      store(item.destination, begin, count, from);
    } else {
      copy_block(to, from, count);
    }
  });
}

void copy_chunk(const CopyItem& item, const Chunk& chunk, double multiplier, double divisor) {
  const bool scaled = multiplier != 1 || divisor != 1;
  if (!scaled && item.source.data != nullptr && item.source.dtype == item.destination.dtype) {
    copy_same_dtype(item, chunk);
  } else if (item.source.dtype == DType::f64 || item.destination.dtype == DType::f64) {
    copy_arithmetic(item, chunk, multiplier, divisor);
  } else {
    copy_arithmetic(item, chunk, static_cast<float>(multiplier), static_cast<float>(divisor));
  }
}

}  // namespace
}  // namespace gradstep::cpu
