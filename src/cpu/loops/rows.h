// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Sparse rows into a dense sum. A part owns the rows i with i mod parts = part and takes all their values, in the order
// of the list: results do not depend on the number of parts.
#pragma once

#include "cpu/loops/block.h"

namespace gradstep::cpu {
namespace {

template <bool kDivides, class T>
[[gnu::noinline]] void add_scaled_block(T* to, const T* from, std::int64_t count, T factor) {
  GRADSTEP_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) to[i] = to[i] + (kDivides ? from[i] / factor : factor * from[i]);
}

void load_indices(const Array& indices, std::int64_t begin, std::int64_t count, std::int64_t* to) {
  if (indices.dtype == DType::i32) {
    gather(indices, static_cast<const std::int32_t*>(indices.data), begin, count, to);
  } else {
    gather(indices, static_cast<const std::int64_t*>(indices.data), begin, count, to);
  }
}

template <class T>
void add_rows_typed(const RowsJob& job, RowPart part) {
  const auto& [sum, indices, values, row_size, job_factor, divides] = job;
  const T factor = static_cast<T>(job_factor);
  const auto add_block = divides ? add_scaled_block<true, T> : add_scaled_block<false, T>;
  Scratch<std::int64_t> rows;
  Scratch<T> scratch;
  for (std::int64_t first = 0; first < indices.size; first += kBlock) {
    const std::int64_t n_rows = smaller(kBlock, indices.size - first);
    load_indices(indices, first, n_rows, rows.values);
    for (std::int64_t j = 0; j < n_rows; ++j) {
      const std::int64_t row = rows.values[j];
      if (row % part.parts != part.part) continue;
      T* to = static_cast<T*>(sum.data) + row * row_size;
      for (std::int64_t done = 0; done < row_size; done += kBlock) {
        const std::int64_t count = smaller(kBlock, row_size - done);
        const T* from = read(values, (first + j) * row_size + done, count, scratch.values);
        add_block(to + done, from, count, factor);
      }
    }
  }
}

void add_rows_part(const RowsJob& job, RowPart part) {
  if (job.sum.dtype == DType::f64) {
    add_rows_typed<double>(job, part);
  } else {
    add_rows_typed<float>(job, part);
  }
}

}  // namespace
}  // namespace gradstep::cpu
