// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Dot products of two arrays, in the lanes and trees of square.h, and their linear combination.
#pragma once

#include "cpu/loops/copy.h"
#include "cpu/loops/square.h"

namespace gradstep::cpu {
namespace {

class DotLanes {
 public:
  /// Every call but the last has a multiple of 16 elements.
  template <class X, class Y>
  GRADSTEP_FORMULA void add(const X* x, const Y* y, std::int64_t count) {
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) add_row(x + i, y + i);
    if (i < count) {
      X x_row[kLanes] = {};
      Y y_row[kLanes] = {};
      for (int lane = 0; i < count; ++i, ++lane) {
        x_row[lane] = x[i];
        y_row[lane] = y[i];
      }
      add_row(x_row, y_row);
    }
  }

  double fold() const { return fold_lanes(lanes_); }

 private:
  template <class X, class Y>
  GRADSTEP_FORMULA void add_row(const X* x, const Y* y) {
    for (int r = 0; r < kRegisters; ++r) lanes_[r] += load_doubles(x + r * kDoubles) * load_doubles(y + r * kDoubles);
  }

  Doubles lanes_[kRegisters] = {};
};

GRADSTEP_FORMULA double fold_quarters(const double* quarters) {
  static_assert(kStreams == 4);
  return (quarters[0] + quarters[1]) + (quarters[2] + quarters[3]);
}

GRADSTEP_FORMULA double fold_streams(const DotLanes* streams) {
  const double quarters[kStreams] = {streams[0].fold(), streams[1].fold(), streams[2].fold(), streams[3].fold()};
  return fold_quarters(quarters);
}

template <class A, class B>
Dots dot_typed(const Array& a, const Array& b, const Chunk& chunk) {
  DotLanes ab[kStreams];
  DotLanes aa[kStreams];
  DotLanes bb[kStreams];
  Scratch<A> a_scratch;
  Scratch<B> b_scratch;
  for_each_block(chunk.length, [&](std::int64_t first, std::int64_t count, std::int64_t stream) {
    const A* x = read(a, chunk.offset + first, count, a_scratch.values);
    const B* y = read(b, chunk.offset + first, count, b_scratch.values);
    ab[stream].add(x, y, count);
    aa[stream].add(x, x, count);
    bb[stream].add(y, y, count);
  });
  return {fold_streams(ab), fold_streams(aa), fold_streams(bb)};
}

Dots dot_chunk(const Array& a, const Array& b, const Chunk& chunk) {
  if (a.dtype == DType::f64) return dot_typed<double, double>(a, b, chunk);
  if (b.dtype == DType::f64) return dot_typed<float, double>(a, b, chunk);
  return dot_typed<float, float>(a, b, chunk);
}

template <class T>
[[gnu::noinline]] void combine_numbers(T* to, const T* a, const T* b, std::int64_t count, T a_factor, T b_factor) {
  GRADSTEP_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) to[i] = a_factor * a[i] + b_factor * b[i];
}

template <class T>
void combine_typed(const CombineItem& item, const Chunk& chunk) {
  Scratch<T> a_scratch;
  Scratch<T> b_scratch;
  Scratch<T> to_scratch;
  for_each_block(chunk.length, [&](std::int64_t first, std::int64_t count, std::int64_t) {
    const std::int64_t begin = chunk.offset + first;
    const auto operand = [&](const Array& array, T* scratch) -> const T* {
      if (array.data != nullptr) return read(array, begin, count, scratch);
      zero_block(scratch, count);
      return scratch;
    };
    const T* a = operand(item.a, a_scratch.values);
    const T* b = operand(item.b, b_scratch.values);
    T* in_place = direct<T>(item.destination, begin);
    if (in_place != nullptr) help_prefetcher(in_place, count);
    T* to = in_place != nullptr ? in_place : to_scratch.values;
    combine_numbers(to, a, b, count, static_cast<T>(item.a_factor), static_cast<T>(item.b_factor));
    if (in_place == nullptr) store(item.destination, begin, count, to);
  });
}

void combine_chunk(const CombineItem& item, const Chunk& chunk) {
  const bool in_double = item.destination.dtype == DType::f64 || item.a.dtype == DType::f64;
  if (in_double || item.b.dtype == DType::f64) return combine_typed<double>(item, chunk);
  combine_typed<float>(item, chunk);
}

}  // namespace
}  // namespace gradstep::cpu
