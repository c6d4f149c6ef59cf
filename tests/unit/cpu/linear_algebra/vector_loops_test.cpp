// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Loops over vectors against sums in f64, of every instruction set that this processor has.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "dense_tables.h"

namespace gradstep::cpu {
namespace {

template <class T>
constexpr std::int64_t kLine = 64 / static_cast<std::int64_t>(sizeof(T));

/// A symmetric matrix of which the lower triangle counts, and a vector, with room before both.
template <class T>
struct Symmetric {
  Symmetric(std::int64_t rows, std::int64_t room)
      : n(rows),
        before(room),
        stride(rows + room),
        numbers(random_numbers<T>(rows * stride, 1)),
        vector(random_numbers<T>(stride, 2)) {
    std::fill_n(vector.begin(), before, T{0});
  }

  const T* a() const { return numbers.data() + before; }
  const T* x() const { return vector.data() + before; }

  /// What rows [begin, end) add to a x.
  std::vector<T> multiply(const Dense& dense, std::int64_t begin, std::int64_t end, std::int64_t used) const {
    std::vector<T> y(static_cast<std::size_t>(used + end), T{99});
    dense.in<T>().multiply_symmetric(a(), stride, begin, end, x(), y.data() + used, used);
    return {y.begin() + static_cast<std::ptrdiff_t>(used), y.end()};
  }

  std::int64_t n;
  std::int64_t before;
  std::int64_t stride;
  std::vector<T> numbers;
  std::vector<T> vector;
};

template <class T>
void expect_definition(std::int64_t n) {
  const Symmetric<T> matrix(n, kLine<T>);
  for (const std::int64_t begin : {std::int64_t{0}, n / 2 / 4 * 4}) {
    std::vector<double> expected(static_cast<std::size_t>(n));
    for (std::int64_t i = begin; i < n; ++i) {
      for (std::int64_t j = 0; j <= i; ++j) {
        const double number = static_cast<double>(matrix.a()[i * matrix.stride + j]);
        expected[static_cast<std::size_t>(i)] += number * static_cast<double>(matrix.x()[j]);
        if (j < i) expected[static_cast<std::size_t>(j)] += number * static_cast<double>(matrix.x()[i]);
      }
    }
    const std::vector<T> lowest = matrix.multiply(*tables().front().dense, begin, n, 0);
    const double slack = static_cast<double>(n + 4) * static_cast<double>(std::numeric_limits<T>::epsilon());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_NEAR(static_cast<double>(lowest[i]), expected[i], slack) << i << " of " << n << " from " << begin;
    }
    for (const Table& table : tables()) {
      for (const std::int64_t used : {std::int64_t{0}, (kLine<T> - n % kLine<T>) % kLine<T>}) {
        EXPECT_EQ(matrix.multiply(*table.dense, begin, n, used), lowest)
            << table.name << ", " << n << " rows from " << begin << ", " << used << " before";
      }
    }
  }
}

TEST(VectorLoops, a_symmetric_product_has_the_same_bits_wherever_its_lines_begin) {
  for (std::int64_t n = 1; n <= 70; ++n) {
    expect_definition<double>(n);
    expect_definition<float>(n);
  }
}

}  // namespace
}  // namespace gradstep::cpu
