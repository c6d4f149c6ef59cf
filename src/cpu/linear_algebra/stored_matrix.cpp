// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/linear_algebra/stored_matrix.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace gradstep::cpu {

float* read_matrix(const Loops& loops, const StoredMatrix& matrix, float* scratch) {
  if (!matrix.is_coded()) return matrix.floats();
  loops.decode_matrix(matrix, 0, matrix.rows, scratch);
  return scratch;
}

void copy_matrix(const Loops& loops, const StoredMatrix& matrix, float* to) {
  const float* numbers = read_matrix(loops, matrix, to);
  if (numbers != to && matrix.size() > 0) {
    std::memcpy(to, numbers, static_cast<std::size_t>(matrix.size()) * sizeof(float));
  }
}

void write_matrix(const Loops& loops, const float* numbers, const StoredMatrix& matrix) {
  if (matrix.is_coded()) {
    std::fill_n(matrix.buckets, matrix.columns, 0.0F);
    loops.take_largest_of_columns(matrix, 0, matrix.rows, numbers, matrix.buckets);
    loops.encode_matrix(numbers, matrix);
  } else if (numbers != matrix.numbers && matrix.size() > 0) {
    std::memcpy(matrix.numbers, numbers, static_cast<std::size_t>(matrix.size()) * sizeof(float));
  }
}

void write_identity(const Loops& loops, const StoredMatrix& matrix, float value) {
  std::vector<float> scratch(matrix.is_coded() ? static_cast<std::size_t>(matrix.size()) : 0);
  float* numbers = matrix.is_coded() ? scratch.data() : matrix.floats();
  std::fill_n(numbers, matrix.size(), 0.0F);
  for (std::int64_t i = 0; i < matrix.rows; ++i) numbers[i * matrix.columns + i] = value;
  write_matrix(loops, numbers, matrix);
}

}  // namespace gradstep::cpu
