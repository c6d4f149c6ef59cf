// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Elements of views of any strides, to and from contiguous memory. Where rows of a view are columns in memory (images
// with channels last, matrices that are transposed) they are transposed by tiles, whose lines are read and written
// whole.
#pragma once

#include <type_traits>

#include "core/array.h"
#include "core/dimensions.h"
#include "cpu/loops/conversions.h"

namespace gradstep::cpu {
namespace {

GRADSTEP_FORMULA std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

/// Elements of a view that follow each other in row-major order after `done` others: rows that are `row_stride` apart
/// in memory, the first of them at `offset`, of columns that are `column_stride` apart. Elements of one line are rows
/// of one column.
struct Patch {
  std::int64_t offset;
  std::int64_t rows;
  std::int64_t row_stride;
  std::int64_t columns;
  std::int64_t column_stride;
  std::int64_t done;
};

/// Cuts the elements [begin, begin + count) of a strided view into patches: lines along the last dimension, but whole
/// rows side by side where they are short (as in images whose channels are last), or nearer to each other than columns
/// are (as in a matrix that is transposed).
template <class Body>
GRADSTEP_FORMULA void for_each_patch(const Array& view, std::int64_t begin, std::int64_t count, Body body) {
  constexpr std::int64_t kShort = 16;
  constexpr std::int64_t kLeastRows = 4;
  const Dimensions dimensions(view);
  const std::int64_t* shape = dimensions.shape;
  const std::int64_t* strides = dimensions.strides;
  const int last = dimensions.count - 1;
  if (last < 0) return body(Patch{0, count, 0, 1, 0, 0});
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
      body(Patch{offset, rows, strides[last - 1], length, strides[last], done});
      done += rows * length;
      index[last - 1] += rows;
      carry(last - 1);
      continue;
    }
    const std::int64_t run = smaller(length - index[last], count - done);
    body(Patch{offset, run, strides[last], 1, 0, done});
    done += run;
    index[last] += run;
    carry(last);
  }
}

constexpr std::int64_t kTile = 4;

/// to[j * width + i] = from[i * across + j] of a tile.
template <class T>
GRADSTEP_FORMULA void transpose_tile(const T* from, std::int64_t across, T* to, std::int64_t width) {
  using Line [[gnu::vector_size(kTile * sizeof(T))]] = T;
  Line lines[kTile];
  for (std::int64_t i = 0; i < kTile; ++i) __builtin_memcpy(&lines[i], from + i * across, sizeof(Line));
  const Line low = __builtin_shufflevector(lines[0], lines[1], 0, 4, 1, 5);
  const Line high = __builtin_shufflevector(lines[0], lines[1], 2, 6, 3, 7);
  const Line next_low = __builtin_shufflevector(lines[2], lines[3], 0, 4, 1, 5);
  const Line next_high = __builtin_shufflevector(lines[2], lines[3], 2, 6, 3, 7);
  lines[0] = __builtin_shufflevector(low, next_low, 0, 1, 4, 5);
  lines[1] = __builtin_shufflevector(low, next_low, 2, 3, 6, 7);
  lines[2] = __builtin_shufflevector(high, next_high, 0, 1, 4, 5);
  lines[3] = __builtin_shufflevector(high, next_high, 2, 3, 6, 7);
  for (std::int64_t j = 0; j < kTile; ++j) __builtin_memcpy(to + j * width, &lines[j], sizeof(Line));
}

/// Asks memory for the lines [begin, end), before they are worked on: the processor does not see lines coming that are
/// far apart.
template <class T>
GRADSTEP_FORMULA void prefetch_lines(const T* from, std::int64_t across, std::int64_t begin, std::int64_t end,
                                     std::int64_t length) {
  constexpr std::int64_t kCacheLine = 64 / sizeof(T);
  for (std::int64_t i = begin; i < end; ++i) {
    for (std::int64_t j = 0; j < length; j += kCacheLine) __builtin_prefetch(from + i * across + j);
  }
}

/// to[j * width + i] = from[i * across + j] of `lines` lines i of `length` numbers j, one line after the other as they
/// are read.
template <class T>
GRADSTEP_FORMULA void transpose_as_read(const T* from, std::int64_t across, std::int64_t lines, std::int64_t length,
                                        T* to, std::int64_t width) {
  constexpr std::int64_t kAhead = 2 * kTile;
  const auto transpose_rest = [&](std::int64_t first, std::int64_t end, std::int64_t begin) {
    for (std::int64_t i = first; i < end; ++i) {
      GRADSTEP_INDEPENDENT
      for (std::int64_t j = begin; j < length; ++j) to[j * width + i] = from[i * across + j];
    }
  };
  prefetch_lines(from, across, 0, smaller(kAhead, lines), length);
  std::int64_t i = 0;
  for (; i + kTile <= lines; i += kTile) {
    prefetch_lines(from, across, i + kAhead, smaller(i + kAhead + kTile, lines), length);
    std::int64_t j = 0;
    for (; j + kTile <= length; j += kTile) transpose_tile(from + i * across + j, across, to + j * width + i, width);
    transpose_rest(i, i + kTile, j);
  }
  transpose_rest(i, lines, 0);
}

/// Transposes one written line after the other: each has all its numbers before the cache needs its place.
template <class T>
GRADSTEP_FORMULA void transpose_as_written(const T* from, std::int64_t across, std::int64_t lines, std::int64_t length,
                                           T* to, std::int64_t width) {
  std::int64_t j = 0;
  for (; j + kTile <= length; j += kTile) {
    std::int64_t i = 0;
    for (; i + kTile <= lines; i += kTile) transpose_tile(from + i * across + j, across, to + j * width + i, width);
    for (; i < lines; ++i) {
      for (std::int64_t k = j; k < j + kTile; ++k) to[k * width + i] = from[i * across + k];
    }
  }
  for (; j < length; ++j) {
    GRADSTEP_INDEPENDENT
    for (std::int64_t i = 0; i < lines; ++i) to[j * width + i] = from[i * across + j];
  }
}

/// Where the rows and columns of a patch lie on one side of a copy.
template <class T>
struct Side {
  T* data;
  std::int64_t row_stride;
  std::int64_t column_stride;
};

template <class From, class To>
GRADSTEP_FORMULA void copy_patch(const Side<From>& from, const Side<To>& to, std::int64_t rows, std::int64_t columns) {
  if constexpr (std::is_same_v<const To, From> && std::is_arithmetic_v<To>) {
    if (columns > 1 && from.row_stride == 1 && to.column_stride == 1) {
      return transpose_as_read(from.data, from.column_stride, columns, rows, to.data, to.row_stride);
    }
    if (columns > 1 && from.column_stride == 1 && to.row_stride == 1) {
      return transpose_as_written(from.data, from.row_stride, rows, columns, to.data, to.column_stride);
    }
  }
  for (std::int64_t k = 0; k < columns; ++k) {
    From* const source = from.data + k * from.column_stride;
    To* const destination = to.data + k * to.column_stride;
    if (from.row_stride == 1 && to.row_stride == 1) {
      convert_numbers(source, destination, rows);
      continue;
    }
    GRADSTEP_INDEPENDENT
    for (std::int64_t i = 0; i < rows; ++i) {
      destination[i * to.row_stride] = kernels::convert<To>(source[i * from.row_stride]);
    }
  }
}

/// to[i] = element begin + i of a view whose elements are of type `From` at `data`.
template <class To, class From>
[[gnu::noinline]] void gather(const Array& view, const From* data, std::int64_t begin, std::int64_t count, To* to) {
  if (view.strides == nullptr) return convert_numbers(data + begin, to, count);
  for_each_patch(view, begin, count, [=](const Patch& patch) {
    copy_patch(Side<const From>{data + patch.offset, patch.row_stride, patch.column_stride},
               Side<To>{to + patch.done, patch.columns, 1}, patch.rows, patch.columns);
  });
}

/// The reverse of gather.
template <class From, class To>
[[gnu::noinline]] void scatter(const Array& view, To* data, std::int64_t begin, std::int64_t count, const From* from) {
  if (view.strides == nullptr) return convert_numbers(from, data + begin, count);
  for_each_patch(view, begin, count, [=](const Patch& patch) {
    copy_patch(Side<const From>{from + patch.done, patch.columns, 1},
               Side<To>{data + patch.offset, patch.row_stride, patch.column_stride}, patch.rows, patch.columns);
  });
}

}  // namespace
}  // namespace gradstep::cpu
