// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/linear_algebra/stored_matrix.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace gradstep::cpu {

namespace {

using kernels::Coding;

// Writes of 8 bits may alias whatever is not held in a local.

/// Absent in int8, which the compiler is to know.
template <class Code>
float* diagonal_of(const StoredMatrix& matrix) {
  return kernels::kKeepsDiagonal<Code> ? matrix.diagonal : nullptr;
}

template <class Code>
void encode(const float* numbers, const StoredMatrix& matrix) {
  const std::int64_t rows = matrix.rows;
  const std::int64_t columns = matrix.columns;
  auto* codes = static_cast<Code*>(matrix.numbers);
  float* buckets = matrix.buckets;
  float* diagonal = diagonal_of<Code>(matrix);
  std::fill_n(buckets, columns, 0.0F);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      if (diagonal != nullptr && i == j) continue;
      kernels::take_magnitude(numbers[i * columns + j], buckets[j]);
    }
  }
  for (std::int64_t j = 0; j < columns; ++j) buckets[j] = kernels::column_bucket<Code>(buckets[j]);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      if (diagonal != nullptr && i == j) {
        diagonal[i] = numbers[i * columns + j];
        codes[i * columns + j] = 0;
        continue;
      }
      codes[i * columns + j] = kernels::column_code<Code>(numbers[i * columns + j], buckets[j]);
    }
  }
}

template <class Code>
void decode(const StoredMatrix& matrix, float* numbers) {
  const std::int64_t rows = matrix.rows;
  const std::int64_t columns = matrix.columns;
  const auto* codes = static_cast<const Code*>(matrix.numbers);
  const float* buckets = matrix.buckets;
  const float* diagonal = diagonal_of<Code>(matrix);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      numbers[i * columns + j] = kernels::column_number(codes[i * columns + j], buckets[j]);
    }
    if (diagonal != nullptr) numbers[i * columns + i] = diagonal[i];
  }
}

}  // namespace

float* read_matrix(const StoredMatrix& matrix, float* scratch) {
  switch (matrix.coding) {
    case Coding::none:
      return matrix.floats();
    case Coding::int8:
      decode<std::int8_t>(matrix, scratch);
      break;
    case Coding::int16:
      decode<std::int16_t>(matrix, scratch);
      break;
  }
  return scratch;
}

void write_matrix(const float* numbers, const StoredMatrix& matrix) {
  switch (matrix.coding) {
    case Coding::none:
      if (numbers != matrix.numbers && matrix.size() > 0) {
        std::memcpy(matrix.numbers, numbers, static_cast<std::size_t>(matrix.size()) * sizeof(float));
      }
      break;
    case Coding::int8:
      encode<std::int8_t>(numbers, matrix);
      break;
    case Coding::int16:
      encode<std::int16_t>(numbers, matrix);
      break;
  }
}

void write_identity(const StoredMatrix& matrix, float value) {
  std::vector<float> scratch(matrix.is_coded() ? static_cast<std::size_t>(matrix.size()) : 0);
  float* numbers = matrix.is_coded() ? scratch.data() : matrix.floats();
  std::fill_n(numbers, matrix.size(), 0.0F);
  for (std::int64_t i = 0; i < matrix.rows; ++i) numbers[i * matrix.columns + i] = value;
  write_matrix(numbers, matrix);
}

}  // namespace gradstep::cpu
