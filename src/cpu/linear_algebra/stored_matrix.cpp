// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/linear_algebra/stored_matrix.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace gradstep::cpu {

template <class T>
T* read_matrix(const Loops& loops, const StoredMatrix& matrix, T* scratch) {
  if constexpr (sizeof(T) == sizeof(float)) {
    if (matrix.is_coded()) {
      loops.decode_matrix(matrix, 0, matrix.rows, scratch);
      return scratch;
    }
  }
  return matrix.as<T>();
}

void copy_matrix(const Loops& loops, const StoredMatrix& matrix, float* to) {
  const float* numbers = read_matrix(loops, matrix, to);
  if (numbers != to && matrix.size() > 0) {
    std::memcpy(to, numbers, static_cast<std::size_t>(matrix.size()) * sizeof(float));
  }
}

template <class T>
void write_matrix(const Loops& loops, const T* numbers, const StoredMatrix& matrix) {
  if constexpr (sizeof(T) == sizeof(float)) {
    if (matrix.is_coded()) {
      std::fill_n(matrix.buckets, matrix.columns, 0.0F);
      loops.take_largest_of_columns(matrix, 0, matrix.rows, numbers, matrix.buckets);
      loops.encode_matrix(numbers, matrix);
      return;
    }
  }
  if (numbers != matrix.numbers && matrix.size() > 0) {
    std::memcpy(matrix.numbers, numbers, static_cast<std::size_t>(matrix.size()) * sizeof(T));
  }
}

template float* read_matrix(const Loops& loops, const StoredMatrix& matrix, float* scratch);
template double* read_matrix(const Loops& loops, const StoredMatrix& matrix, double* scratch);
template void write_matrix(const Loops& loops, const float* numbers, const StoredMatrix& matrix);
template void write_matrix(const Loops& loops, const double* numbers, const StoredMatrix& matrix);

namespace {

template <class T>
void write_identity_as(const Loops& loops, const StoredMatrix& matrix, double value) {
  std::vector<T> scratch(matrix.is_coded() ? static_cast<std::size_t>(matrix.size()) : 0);
  T* numbers = matrix.is_coded() ? scratch.data() : matrix.as<T>();
  std::fill_n(numbers, matrix.size(), T{0});
  for (std::int64_t i = 0; i < matrix.rows; ++i) numbers[i * matrix.columns + i] = static_cast<T>(value);
  write_matrix(loops, numbers, matrix);
}

}  // namespace

void write_identity(const Loops& loops, const StoredMatrix& matrix, double value) {
  (matrix.dtype == DType::f64 ? write_identity_as<double> : write_identity_as<float>)(loops, matrix, value);
}

}  // namespace gradstep::cpu
