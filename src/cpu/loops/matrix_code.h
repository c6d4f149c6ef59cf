// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Between matrices in codes (kernels/column_code.h) and their numbers. A row's diagonal number, where it is kept apart,
// is taken with its neighbours and put right after them: so rows are plain loops, which become vectors.
#pragma once

#include "cpu/loops.h"

namespace gradstep::cpu {
namespace {

using kernels::Coding;

void take_magnitudes(const float* row, std::int64_t columns, float* largest) {
  GRADSTEP_INDEPENDENT
  for (std::int64_t j = 0; j < columns; ++j) {
    float column = largest[j];
    kernels::take_finite_magnitude(row[j], column);
    largest[j] = column;
  }
}

template <class Code>
void encode_row(const float* row, const float* buckets, std::int64_t columns, Code* codes) {
  GRADSTEP_INDEPENDENT
  for (std::int64_t j = 0; j < columns; ++j) codes[j] = kernels::column_code<Code>(row[j], buckets[j]);
}

template <class Code>
void decode_row(const Code* codes, const float* buckets, std::int64_t columns, float* row) {
  GRADSTEP_INDEPENDENT
  for (std::int64_t j = 0; j < columns; ++j) row[j] = kernels::column_number(codes[j], buckets[j]);
}

template <class Code>
void take_largest_as(const StoredMatrix& matrix, std::int64_t begin, std::int64_t end, const float* numbers,
                     float* largest) {
  const std::int64_t columns = matrix.columns;
  for (std::int64_t i = begin; i < end; ++i) {
    const float of_others = kernels::kKeepsDiagonal<Code> ? largest[i] : 0;
    take_magnitudes(numbers + (i - begin) * columns, columns, largest);
    if (kernels::kKeepsDiagonal<Code>) largest[i] = of_others;
  }
}

template <class Code>
void encode_matrix_as(const float* numbers, const StoredMatrix& to) {
  const StoredMatrix matrix = to;
  auto* codes = static_cast<Code*>(matrix.numbers);
  float* buckets = matrix.buckets;
  for (std::int64_t j = 0; j < matrix.columns; ++j) buckets[j] = kernels::column_bucket<Code>(buckets[j]);
  for (std::int64_t i = 0; i < matrix.rows; ++i) {
    const std::int64_t first = i * matrix.columns;
    encode_row(numbers + first, buckets, matrix.columns, codes + first);
    if (kernels::kKeepsDiagonal<Code>) {
      matrix.diagonal[i] = numbers[first + i];
      codes[first + i] = 0;
    }
  }
}

template <class Code>
void decode_matrix_as(const StoredMatrix& from, std::int64_t begin, std::int64_t end, float* numbers) {
  const StoredMatrix matrix = from;
  const auto* codes = static_cast<const Code*>(matrix.numbers);
  for (std::int64_t i = begin; i < end; ++i) {
    float* row = numbers + (i - begin) * matrix.columns;
    decode_row(codes + i * matrix.columns, matrix.buckets, matrix.columns, row);
    if (kernels::kKeepsDiagonal<Code>) row[i] = matrix.diagonal[i];
  }
}

void take_largest_of_columns(const StoredMatrix& matrix, std::int64_t begin, std::int64_t end, const float* numbers,
                             float* largest) {
  const auto take = matrix.coding == Coding::int8 ? take_largest_as<std::int8_t> : take_largest_as<std::int16_t>;
  take(matrix, begin, end, numbers, largest);
}

void encode_matrix(const float* numbers, const StoredMatrix& to) {
  (to.coding == Coding::int8 ? encode_matrix_as<std::int8_t> : encode_matrix_as<std::int16_t>)(numbers, to);
}

void decode_matrix(const StoredMatrix& from, std::int64_t begin, std::int64_t end, float* numbers) {
  (from.coding == Coding::int8 ? decode_matrix_as<std::int8_t> : decode_matrix_as<std::int16_t>)(from, begin, end,
                                                                                                 numbers);
}

}  // namespace
}  // namespace gradstep::cpu
