// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/shampoo/state_matrix.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace gradstep {

namespace {

std::int64_t code_size(Coding coding) {
  switch (coding) {
    case Coding::none:
      return sizeof(float);
    case Coding::int8:
      return sizeof(std::int8_t);
    case Coding::int16:
      break;
  }
  return sizeof(std::int16_t);
}

/// One bucket for each column, the largest magnitude over the rows / `limit`; codes are rounded half to even. A NaN
/// makes its bucket NaN, and so the whole column when it is read back.
template <class Code>
void encode(const float* numbers, std::int64_t rows, std::int64_t columns, float limit, Code* codes, float* buckets,
            float* diagonal) {
  std::fill_n(buckets, columns, 0.0F);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      if (diagonal != nullptr && i == j) continue;
      const float magnitude = std::abs(numbers[i * columns + j]);
      if (!(magnitude <= buckets[j])) buckets[j] = std::isnan(buckets[j]) ? buckets[j] : magnitude;
    }
  }
  for (std::int64_t j = 0; j < columns; ++j) buckets[j] /= limit;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      if (diagonal != nullptr && i == j) {
        diagonal[i] = numbers[i * columns + j];
        codes[i * columns + j] = 0;
        continue;
      }
      const float scaled = buckets[j] > 0 ? numbers[i * columns + j] / buckets[j] : 0.0F;
      codes[i * columns + j] =
          std::isfinite(scaled) ? static_cast<Code>(std::clamp(std::nearbyint(scaled), -limit, limit)) : Code{0};
    }
  }
}

template <class Code>
void decode(const Code* codes, std::int64_t rows, std::int64_t columns, const float* buckets, const float* diagonal,
            float* numbers) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      numbers[i * columns + j] = static_cast<float>(codes[i * columns + j]) * buckets[j];
    }
    if (diagonal != nullptr) numbers[i * columns + i] = diagonal[i];
  }
}

Array array_of(void* data, std::int64_t size, DType dtype) {
  Array array;
  array.data = data;
  array.size = size;
  array.dtype = dtype;
  return array;
}

}  // namespace

StateMatrix::StateMatrix(const Context& context, std::int64_t rows, std::int64_t columns, Coding coding)
    : exists_(true), rows_(rows), columns_(columns), coding_(coding) {
  const auto bytes = [](std::int64_t count, std::int64_t size) { return static_cast<std::size_t>(count * size); };
  numbers_ = context.allocate(bytes(rows * columns, code_size(coding)), /*zeroed=*/true);
  if (coding == Coding::none) return;
  buckets_ = context.allocate(bytes(columns, sizeof(float)), /*zeroed=*/true);
  if (coding == Coding::int16) diagonal_ = context.allocate(bytes(columns, sizeof(float)), /*zeroed=*/true);
}

std::int64_t StateMatrix::bytes_of(std::int64_t rows, std::int64_t columns, Coding coding) {
  const std::int64_t lists = coding == Coding::none ? 0 : coding == Coding::int8 ? 1 : 2;
  return rows * columns * code_size(coding) + lists * columns * static_cast<std::int64_t>(sizeof(float));
}

float* StateMatrix::read(float* scratch) const {
  switch (coding_) {
    case Coding::none:
      return numbers_.as<float>();
    case Coding::int8:
      decode(numbers_.as<std::int8_t>(), rows_, columns_, buckets_.as<float>(), nullptr, scratch);
      break;
    case Coding::int16:
      decode(numbers_.as<std::int16_t>(), rows_, columns_, buckets_.as<float>(), diagonal_.as<float>(), scratch);
      break;
  }
  return scratch;
}

void StateMatrix::write(const float* numbers) {
  switch (coding_) {
    case Coding::none:
      if (numbers != numbers_.as<float>()) std::memcpy(numbers_.data(), numbers, numbers_.bytes());
      break;
    case Coding::int8:
      encode(numbers, rows_, columns_, 127.0F, numbers_.as<std::int8_t>(), buckets_.as<float>(), nullptr);
      break;
    case Coding::int16:
      encode(numbers, rows_, columns_, 32767.0F, numbers_.as<std::int16_t>(), buckets_.as<float>(),
             diagonal_.as<float>());
      break;
  }
}

void StateMatrix::release() {
  numbers_ = Buffer();
  buckets_ = Buffer();
  diagonal_ = Buffer();
  here_ = false;
}

void StateMatrix::append_stored(std::size_t parameter, const std::string& name, std::vector<std::int64_t> shape,
                                std::int32_t owner, std::vector<StoredState>& stored) const {
  const auto here = [&](std::int64_t count) { return here_ ? count : 0; };
  const auto append = [&](const std::string& what, const Array& array, std::vector<std::int64_t> dimensions) {
    std::int64_t total = 1;
    for (const std::int64_t dimension : dimensions) total *= dimension;
    stored.push_back({parameter, what, array, 0, total, false, owner, std::move(dimensions)});
  };
  if (shape.empty()) shape = {rows_, columns_};
  if (coding_ == Coding::none) {
    append(name, array_of(numbers_.data(), here(size()), DType::f32), std::move(shape));
    return;
  }
  const std::int64_t bytes = code_size(coding_);
  if (bytes > 1) shape.push_back(bytes);
  append(name, array_of(numbers_.data(), here(size() * bytes), DType::u8), std::move(shape));
  append(name + ".buckets", array_of(buckets_.data(), here(columns_), DType::f32), {columns_});
  if (coding_ == Coding::int16) {
    append(name + ".diagonal", array_of(diagonal_.data(), here(columns_), DType::f32), {columns_});
  }
}

}  // namespace gradstep
