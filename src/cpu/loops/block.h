// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// How loops see their operands. Loops are written for contiguous data of the arithmetic type (f32 or f64). An operand
// that is so already is used in place; any other goes through a block of scratch that stays in the first-level cache:
// converted and, for strided views, gathered on the way in, the reverse on the way out.
//
// A chunk has four streams, each a quarter of it, with partial sums of its own. On Intel's processors they are walked
// together, a block of each in turn: one core keeps more memory requests in flight that way, because its prefetchers
// follow each page's stream on their own and stop at the page's end (measured on in-place addition and Adam from
// memory: a sixth faster than one after the other, and half again as fast for reading alone). Elsewhere they are walked
// one after the other (measured on AMD's Zen 4: 1.3 to 2.4 times faster than together). Results are the same.
#pragma once

#include "backend/work_list.h"
#include "core/array.h"
#include "cpu/loops.h"
#include "cpu/loops/lanes.h"
#include "kernels/convert.h"

namespace gradstep::cpu {
namespace {

using kernels::BFloat16;
using kernels::Float16;

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

GRADSTEP_FORMULA std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

/// body(first element, elements, stream) for every block of a chunk of `length` elements.
template <class Body>
GRADSTEP_FORMULA void for_each_block(std::int64_t length, Body body) {
  const std::int64_t outer_step = kInterleavesStreams ? kBlock : kStreamLength;
  const std::int64_t inner_step = kInterleavesStreams ? kStreamLength : kBlock;
  const std::int64_t outer_end = smaller(length, kInterleavesStreams ? kStreamLength : kChunk);
  const std::int64_t inner_end = kInterleavesStreams ? kChunk : kStreamLength;
  for (std::int64_t outer = 0; outer < outer_end; outer += outer_step) {
    const std::int64_t end = smaller(length, outer + inner_end);
    for (std::int64_t first = outer; first < end; first += inner_step) {
      std::int64_t count = smaller(kBlock, length - first);
      asm("" : "+r"(count));  // a compiler that knows how short blocks are unrolls every loop over them to the end
      body(first, count, first / kStreamLength);
    }
  }
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

/// A view's dimensions without those that continue the one before them, or have one element.
struct Dimensions {
  explicit Dimensions(const Array& view) {
    for (int d = 0; d < view.ndim; ++d) {
      if (view.shape[d] == 1) continue;
      if (count > 0 && strides[count - 1] == view.shape[d] * view.strides[d]) {
        shape[count - 1] *= view.shape[d];
        strides[count - 1] = view.strides[d];
      } else {
        shape[count] = view.shape[d];
        strides[count++] = view.strides[d];
      }
    }
  }

  int count = 0;
  std::int64_t shape[kMaxDimensions];
  std::int64_t strides[kMaxDimensions];
};

/// Elements that lie `stride` apart from `offset` on, and are as many places apart as `step` says in row-major order,
/// from the one after `done` others on.
struct Run {
  std::int64_t offset;
  std::int64_t stride;
  std::int64_t count;
  std::int64_t done;
  std::int64_t step;
};

/// Cuts the elements [begin, begin + count) of a strided view, in row-major order, into runs: along the last dimension,
/// or along the one before it where the last is short (as in images whose channels are last), or where that one's
/// elements are nearer to each other (as in a matrix that is transposed).
template <class Body>
GRADSTEP_FORMULA void for_each_run(const Array& view, std::int64_t begin, std::int64_t count, Body body) {
  constexpr std::int64_t kShort = 16;
  constexpr std::int64_t kLeastRows = 4;
  const Dimensions dimensions(view);
  const std::int64_t* shape = dimensions.shape;
  const std::int64_t* strides = dimensions.strides;
  const int last = dimensions.count - 1;
  if (last < 0) return body(Run{0, 0, count, 0, 1});
  const std::int64_t length = shape[last];
  std::int64_t least_rows = count + 1;  // that go side by side: never so many
  if (last > 0 && length <= kShort) least_rows = length;
  if (last > 0 && strides[last - 1] > 0 && strides[last - 1] < strides[last]) least_rows = kLeastRows;
  std::int64_t index[kMaxDimensions];
  for (int d = last; d >= 0; --d) {
    index[d] = begin % shape[d];
    begin /= shape[d];
  }
  const auto carry = [&](int from) {
    for (int d = from; d > 0 && index[d] == shape[d]; --d) {
      index[d] = 0;
      ++index[d - 1];
    }
  };
  for (std::int64_t done = 0; done < count;) {
    std::int64_t offset = 0;
    for (int d = 0; d <= last; ++d) offset += index[d] * strides[d];
    const std::int64_t rows =
        last > 0 && index[last] == 0 ? smaller(shape[last - 1] - index[last - 1], (count - done) / length) : 0;
    if (rows >= least_rows) {
      for (std::int64_t k = 0; k < length; ++k) {
        body(Run{offset + k * strides[last], strides[last - 1], rows, done + k, length});
      }
      done += rows * length;
      index[last - 1] += rows;
      carry(last - 1);
      continue;
    }
    const std::int64_t run = smaller(length - index[last], count - done);
    body(Run{offset, strides[last], run, done, 1});
    done += run;
    index[last] += run;
    carry(last);
  }
}

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

/// to[i] = element begin + i of a view whose elements are of type `From` at `data`.
template <class To, class From>
[[gnu::noinline]] void gather(const Array& view, const From* data, std::int64_t begin, std::int64_t count, To* to) {
  if (view.strides == nullptr) return convert_numbers(data + begin, to, count);
  for_each_run(view, begin, count, [=](const Run& run) {
    const From* from = data + run.offset;
    if (run.stride == 1 && run.step == 1) return convert_numbers(from, to + run.done, run.count);
    GRADSTEP_INDEPENDENT
    for (std::int64_t i = 0; i < run.count; ++i) {
      to[run.done + i * run.step] = kernels::convert<To>(from[i * run.stride]);
    }
  });
}

/// The reverse of gather.
template <class From, class To>
[[gnu::noinline]] void scatter(const Array& view, To* data, std::int64_t begin, std::int64_t count, const From* from) {
  if (view.strides == nullptr) return convert_numbers(from, data + begin, count);
  for_each_run(view, begin, count, [=](const Run& run) {
    To* to = data + run.offset;
    if (run.stride == 1 && run.step == 1) return convert_numbers(from + run.done, to, run.count);
    GRADSTEP_INDEPENDENT
    for (std::int64_t i = 0; i < run.count; ++i) {
      to[i * run.stride] = kernels::convert<To>(from[run.done + i * run.step]);
    }
  });
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
  with_float_type(array.dtype, array.data, [&](const auto* data) { gather(array, data, begin, count, to); });
  return to;
}

template <class T>
[[gnu::noinline]] void store(const Array& array, std::int64_t begin, std::int64_t count, const T* from) {
  with_float_type(array.dtype, array.data, [&](auto* data) { scatter(array, data, begin, count, from); });
}

/// Elements from `begin` on, in place or else in `scratch`.
template <class T>
GRADSTEP_FORMULA const T* read(const Array& array, std::int64_t begin, std::int64_t count, T* scratch) {
  if (const T* in_place = direct<T>(array, begin)) return in_place;
  return load(array, begin, count, scratch);
}

}  // namespace
}  // namespace gradstep::cpu
