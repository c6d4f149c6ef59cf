// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_test_support.h"

namespace gradstep::test {
namespace {

class LowRankLoops : public testing::TestWithParam<std::string> {
 protected:
  LowRankLoops() : context_(make_cpu_context(2, GetParam().c_str())), backend_(context_->cpu()) {}

  std::unique_ptr<Context> context_;
  BackendCalls backend_;
};

INSTANTIATE_TEST_SUITE_P(cpu, LowRankLoops, testing::ValuesIn(cpu::compiled_instruction_sets()),
                         [](const auto& set) { return set.param; });

constexpr std::int64_t kRank = 6;  // more than one group of four

struct Sizes {
  std::int64_t rows;
  std::int64_t cols;
};
constexpr Sizes kSizes[] = {{1, 1}, {3, 700}, {700, 3}, {130, 515}, {2, 2500}, {270, 1030}};

// Sums of products in f64, rounded once: f32 to half an ulp and what the order of f64 sums leaves.
TEST_P(LowRankLoops, products_are_those_of_their_definitions) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const double tolerance = dtype == DType::f32 ? 1e-6 : 1e-13;
    for (const auto& [rows, cols] : kSizes) {
      TestArray m(dtype, rows * cols);
      TestArray p(dtype, kRank * rows);
      TestArray q(dtype, kRank * cols);
      TestArray result(dtype, rows * cols);
      m.fill(1);
      q.fill(2);
      const LowRank job[] = {{m.array(), rows, cols, kRank, p.array().data, q.array().data, result.array().data}};
      backend_.project_rows(job);
      for (std::int64_t k = 0; k < kRank; ++k) {
        for (std::int64_t i = 0; i < rows; ++i) {
          double sum = 0;
          for (std::int64_t j = 0; j < cols; ++j) sum += m.get(i * cols + j) * q.get(k * cols + j);
          ASSERT_NEAR(p.get(k * rows + i), sum, tolerance * (1 + std::abs(sum)));
        }
      }
      backend_.project_columns(job);
      for (std::int64_t k = 0; k < kRank; ++k) {
        for (std::int64_t j = 0; j < cols; ++j) {
          double sum = 0;
          for (std::int64_t i = 0; i < rows; ++i) sum += m.get(i * cols + j) * p.get(k * rows + i);
          ASSERT_NEAR(q.get(k * cols + j), sum, tolerance * (1 + std::abs(sum)));
        }
      }
      const TestArray before = m;
      backend_.expand(job, 2);
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < cols; ++j) {
          double sum = 0;
          for (std::int64_t k = 0; k < kRank; ++k) sum += p.get(k * rows + i) * q.get(k * cols + j);
          ASSERT_NEAR(result.get(i * cols + j), 2 * sum, tolerance * (1 + 2 * std::abs(sum)));
          ASSERT_NEAR(m.get(i * cols + j), before.get(i * cols + j) - sum, tolerance * (1 + std::abs(sum)));
        }
      }
    }
  }
}

TEST_P(LowRankLoops, factors_become_orthonormal_and_dependent_ones_zero) {
  constexpr std::int64_t kRows = 2500;
  for (const DType dtype : {DType::f32, DType::f64}) {
    TestArray p(dtype, kRank * kRows);
    p.fill(3);
    for (std::int64_t i = 0; i < kRows; ++i) p.set(kRows + i, 0.5 * p.get(i));  // the second is half of the first
    const LowRank job[] = {
        {{nullptr, kRows, dtype, 0, nullptr, nullptr}, kRows, 1, kRank, p.array().data, nullptr, nullptr}};
    backend_.orthonormalize(job);
    const auto dot = [&](std::int64_t a, std::int64_t b) {
      double sum = 0;
      for (std::int64_t i = 0; i < kRows; ++i) sum += p.get(a * kRows + i) * p.get(b * kRows + i);
      return sum;
    };
    const double tolerance = dtype == DType::f32 ? 1e-6 : 1e-13;
    EXPECT_EQ(dot(1, 1), 0);
    for (std::int64_t a = 0; a < kRank; ++a) {
      for (std::int64_t b = 0; a != 1 && b <= a; ++b) {
        EXPECT_NEAR(dot(a, b), a == b ? 1 : 0, tolerance) << a << " and " << b;
      }
    }
  }
}

// Nearly parallel: what is left after the projections are taken away is a thousandth, and orthogonal to rounding.
TEST_P(LowRankLoops, nearly_dependent_factors_become_orthonormal) {
  constexpr std::int64_t kRows = 700;
  for (const DType dtype : {DType::f32, DType::f64}) {
    TestArray p(dtype, kRank * kRows);
    p.fill(3);
    for (std::int64_t k = 1; k < kRank; ++k) {
      for (std::int64_t i = 0; i < kRows; ++i) p.set(k * kRows + i, p.get(i) + 1e-3 * p.get(k * kRows + i));
    }
    const LowRank job[] = {
        {{nullptr, kRows, dtype, 0, nullptr, nullptr}, kRows, 1, kRank, p.array().data, nullptr, nullptr}};
    backend_.orthonormalize(job);
    for (std::int64_t a = 0; a < kRank; ++a) {
      for (std::int64_t b = 0; b <= a; ++b) {
        double sum = 0;
        for (std::int64_t i = 0; i < kRows; ++i) sum += p.get(a * kRows + i) * p.get(b * kRows + i);
        EXPECT_NEAR(sum, a == b ? 1 : 0, dtype == DType::f32 ? 1e-6 : 1e-13) << a << " and " << b;
      }
    }
  }
}

// Some in a list are worked on side by side, and large ones in parts.
TEST_P(LowRankLoops, matrices_of_a_list_are_worked_on_as_those_alone) {
  constexpr std::int64_t kRows = 5000;
  constexpr std::int64_t kColumns = 40;
  constexpr std::size_t kCount = 5;
  const auto run = [&](bool together) {
    std::vector<TestArray> arrays;
    arrays.reserve(4 * kCount);
    std::vector<LowRank> matrices;
    for (std::size_t k = 0; k < kCount; ++k) {
      const std::int64_t rows = kRows >> k;
      const std::size_t first = arrays.size();
      for (const std::int64_t size : {rows * kColumns, kRank * rows, kRank * kColumns, rows * kColumns}) {
        arrays.emplace_back(DType::f32, size);
        arrays.back().fill(static_cast<int>(arrays.size()));
      }
      matrices.push_back({arrays[first].array(), rows, kColumns, kRank, arrays[first + 1].array().data,
                          arrays[first + 2].array().data, arrays[first + 3].array().data});
    }
    const std::size_t share = together ? kCount : 1;
    for (std::size_t k = 0; k < kCount; k += share) {
      const std::span list(matrices.data() + k, share);
      backend_.project_rows(list);
      backend_.orthonormalize(list);
      backend_.project_columns(list);
      backend_.expand(list, 0.5);
    }
    std::vector<double> numbers;
    for (const TestArray& array : arrays) {
      for (std::int64_t i = 0; i < array.array().size; ++i) numbers.push_back(array.get(i));
    }
    return numbers;
  };
  EXPECT_EQ(run(true), run(false));
}

}  // namespace
}  // namespace gradstep::test
