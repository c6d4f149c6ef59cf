// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/linear_algebra/stored_matrix.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/instruction_set.h"
#include "dense_tables.h"
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
  std::vector<float> read(const Loops& loops = choose_loops()) const {
    std::vector<float> scratch(static_cast<std::size_t>(view.size()));
    const float* values = read_matrix(loops, view, scratch.data());
    return {values, values + view.size()};
  }
};

TEST(StoredMatrix, CodesAreWithinHalfACellOfTheNumbers) {
  const auto numbers = test::random_values<float>(5 * 5, 3);
  for (const Coding coding : {Coding::int8, Coding::int16}) {
    OwnedMatrix matrix(5, 5, coding);
    write_matrix(choose_loops(), numbers.data(), matrix.view);
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

/// Between -127 and 127 with 127 in every column, so that a bucket is 1.
TEST(StoredMatrix, CodesAreRoundedHalfToEven) {
  constexpr std::int64_t kColumns = 37;  // vectors and what is left of them
  std::vector<float> numbers(static_cast<std::size_t>(510 * kColumns));
  for (std::size_t i = 0; i < 509; ++i) {
    for (std::size_t j = 0; j < 37; ++j) numbers[i * 37 + j] = 0.5F * (static_cast<float>(i) - 254);
  }
  for (std::size_t j = 0; j < 37; ++j) numbers[509 * 37 + j] = j % 2 == 0 ? 0.49999997F : -1e-30F;
  OwnedMatrix matrix(510, kColumns, Coding::int8);
  write_matrix(choose_loops(), numbers.data(), matrix.view);
  const std::vector<float> back = matrix.read();
  for (std::size_t k = 0; k < numbers.size(); ++k) ASSERT_EQ(back[k], std::nearbyint(numbers[k])) << numbers[k];
}

TEST(StoredMatrix, EveryInstructionSetGivesTheSameCodes) {
  for (const std::int64_t n : {1, 7, 8, 45}) {
    auto numbers = test::random_values<float>(static_cast<std::size_t>(n * n), 7);
    numbers[0] = n == 7 ? std::numeric_limits<float>::infinity() : numbers[0];
    numbers[static_cast<std::size_t>(n) % numbers.size()] *= 1e-42F;
    for (const Coding coding : {Coding::int8, Coding::int16}) {
      OwnedMatrix baseline(n, n, coding);
      write_matrix(lowest_loops(), numbers.data(), baseline.view);
      for (const Table& table : tables()) {
        OwnedMatrix own(n, n, coding);
        write_matrix(*table.loops, numbers.data(), own.view);
        EXPECT_EQ(own.numbers, baseline.numbers) << table.name << n;
        EXPECT_EQ(own.buckets, baseline.buckets) << table.name << n;
        EXPECT_EQ(own.diagonal, baseline.diagonal) << table.name << n;
        EXPECT_EQ(own.read(*table.loops), baseline.read(lowest_loops())) << table.name << n;
      }
    }
  }
}

TEST(StoredMatrix, SomeRowsAfterTheOtherAreAsTheWhole) {
  constexpr std::int64_t kSize = 29;
  const auto numbers = test::random_values<float>(kSize * kSize, 11);
  for (const Coding coding : {Coding::int8, Coding::int16}) {
    const OwnedMatrix matrix(kSize, kSize, coding);
    write_matrix(lowest_loops(), numbers.data(), matrix.view);
    const std::vector<float> whole = matrix.read(lowest_loops());
    for (const Table& table : tables()) {
      std::vector<float> rows(whole.size());
      std::vector<float> largest(kSize, 0.0F);
      for (std::int64_t begin = 0; begin < kSize; begin += 4) {
        const std::int64_t end = std::min(kSize, begin + 4);
        table.loops->decode_matrix(matrix.view, begin, end, rows.data() + begin * kSize);
        table.loops->take_largest_of_columns(matrix.view, begin, end, numbers.data() + begin * kSize, largest.data());
      }
      EXPECT_EQ(rows, whole) << table.name;
      const OwnedMatrix again(kSize, kSize, coding);
      std::ranges::copy(largest, again.view.buckets);
      table.loops->encode_matrix(numbers.data(), again.view);
      EXPECT_EQ(again.buckets, matrix.buckets) << table.name;
      EXPECT_EQ(again.numbers, matrix.numbers) << table.name;
    }
  }
}

TEST(StoredMatrix, TheDiagonalOfInt16IsExact) {
  auto numbers = test::random_values<float>(4 * 4, 5);
  numbers[5] = 1e20F;  // and does not widen its column's cells
  OwnedMatrix matrix(4, 4, Coding::int16);
  write_matrix(choose_loops(), numbers.data(), matrix.view);
  const std::vector<float> back = matrix.read();
  for (const std::size_t i : {0U, 5U, 10U, 15U}) EXPECT_EQ(back[i], numbers[i]);
  EXPECT_NEAR(back[1], numbers[1], 1e-3);
}

TEST(StoredMatrix, ANumberThatIsNotFiniteLeavesItsColumnAsItIs) {
  std::vector<float> numbers(12, 1.0F);
  numbers[1 * 4 + 2] = std::numeric_limits<float>::quiet_NaN();
  numbers[2 * 4] = std::numeric_limits<float>::infinity();
  OwnedMatrix matrix(3, 4, Coding::int8);
  write_matrix(choose_loops(), numbers.data(), matrix.view);
  const std::vector<float> back = matrix.read();
  for (std::size_t k = 0; k < 12; ++k) EXPECT_EQ(back[k], k == 6 || k == 8 ? 0 : 1) << k;
}

TEST(StoredMatrix, AnIdentityIsOneInEveryCoding) {
  for (const Coding coding : {Coding::none, Coding::int8, Coding::int16}) {
    OwnedMatrix matrix(3, 3, coding);
    write_identity(choose_loops(), matrix.view, 0.25F);
    EXPECT_EQ(matrix.read(), (std::vector<float>{0.25F, 0, 0, 0, 0.25F, 0, 0, 0, 0.25F}));
  }
}

}  // namespace
}  // namespace gradstep::cpu
