// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/linear_algebra/stored_matrix.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "unit/support.h"

namespace gradstep::cpu {
namespace {

using kernels::Coding;

/// A matrix with memory of its own.
struct OwnedMatrix {
  std::vector<std::int32_t> numbers;
  std::vector<float> buckets;
  std::vector<float> diagonal;
  StoredMatrix view;

  OwnedMatrix(std::int64_t rows, std::int64_t columns, Coding coding)
      : numbers(static_cast<std::size_t>(rows * columns)),
        buckets(static_cast<std::size_t>(columns)),
        diagonal(static_cast<std::size_t>(columns)) {
    view = {rows, columns, coding, numbers.data(), nullptr, nullptr};
    if (coding != Coding::none) view.buckets = buckets.data();
    if (coding == Coding::int16) view.diagonal = diagonal.data();
  }
  std::vector<float> read() const {
    std::vector<float> scratch(static_cast<std::size_t>(view.size()));
    const float* values = read_matrix(view, scratch.data());
    return {values, values + view.size()};
  }
};

TEST(StoredMatrix, CodesAreWithinHalfACellOfTheNumbers) {
  const auto numbers = test::random_values<float>(5 * 5, 3);
  for (const Coding coding : {Coding::int8, Coding::int16}) {
    OwnedMatrix matrix(5, 5, coding);
    write_matrix(numbers.data(), matrix.view);
    const std::vector<float> back = matrix.read();
    for (std::size_t j = 0; j < 5; ++j) {
      float largest = 0;
      for (std::size_t i = 0; i < 5; ++i) {
        if (coding == Coding::int8 || i != j) largest = std::max(largest, std::abs(numbers[i * 5 + j]));
      }
      const float cell = largest / (coding == Coding::int8 ? 127.0F : 32767.0F);
      for (std::size_t i = 0; i < 5; ++i) {
        EXPECT_LE(std::abs(back[i * 5 + j] - numbers[i * 5 + j]), cell * 0.5001F) << i << " " << j;
      }
    }
  }
}

TEST(StoredMatrix, TheDiagonalOfInt16IsExact) {
  auto numbers = test::random_values<float>(4 * 4, 5);
  numbers[5] = 1e20F;  // and does not widen its column's cells
  OwnedMatrix matrix(4, 4, Coding::int16);
  write_matrix(numbers.data(), matrix.view);
  const std::vector<float> back = matrix.read();
  for (const std::size_t i : {0U, 5U, 10U, 15U}) EXPECT_EQ(back[i], numbers[i]);
  EXPECT_NEAR(back[1], numbers[1], 1e-3);
}

TEST(StoredMatrix, ANanMakesItsColumnNan) {
  std::vector<float> numbers(12, 1.0F);
  numbers[1 * 4 + 2] = std::numeric_limits<float>::quiet_NaN();
  OwnedMatrix matrix(3, 4, Coding::int8);
  write_matrix(numbers.data(), matrix.view);
  const std::vector<float> back = matrix.read();
  for (std::size_t k = 0; k < 12; ++k) EXPECT_EQ(std::isnan(back[k]), k % 4 == 2) << k;
}

TEST(StoredMatrix, AnIdentityIsOneInEveryCoding) {
  for (const Coding coding : {Coding::none, Coding::int8, Coding::int16}) {
    OwnedMatrix matrix(3, 3, coding);
    write_identity(matrix.view, 0.25F);
    EXPECT_EQ(matrix.read(), (std::vector<float>{0.25F, 0, 0, 0, 0.25F, 0, 0, 0, 0.25F}));
  }
}

}  // namespace
}  // namespace gradstep::cpu
