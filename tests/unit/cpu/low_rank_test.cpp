// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "unit/cpu/projection_run.h"

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

// P belongs to the columns of a wide matrix where the form turns it. Q keeps a factor that nothing came of, or is zero.
TEST_P(LowRankLoops, projections_are_those_of_their_definition) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const double tolerance = dtype == DType::f32 ? 1e-6 : 1e-13;
    for (const auto form : {rules::ProjectionForm::reference, rules::ProjectionForm::simple}) {
      const bool is_simple = form == rules::ProjectionForm::simple;
      for (const auto& [rows, cols] : {Sizes{70, 515}, Sizes{515, 70}}) {
        ProjectionRun run(dtype, {rows, cols, kRank}, form);
        run.clear_product(2);
        const ProjectionRun before = run;
        run.finish(backend_);
        const bool is_turned = run.item().is_transposed();
        EXPECT_EQ(is_turned, !is_simple && rows < cols);
        const std::int64_t length = run.item().length();
        std::vector<double> scales;
        for (std::int64_t k = 0; k < kRank; ++k) {
          double squares = 0;
          for (std::int64_t i = 0; i < length; ++i) squares += std::pow(before.products.get(k * length + i), 2);
          scales.push_back(1 / (std::sqrt(squares) + run.form.epsilon));
          const bool stays = squares == 0 && !is_simple;
          for (std::int64_t i = 0; i < length; ++i) {
            const double expected =
                stays ? before.factors.get(i + k * length) : scales.back() * before.products.get(k * length + i);
            ASSERT_NEAR(run.factors.get(k * length + i), expected, tolerance);
          }
        }
        const TestArray& of_rows = is_turned ? before.products : before.basis;
        const TestArray& of_columns = is_turned ? before.basis : before.products;
        for (std::int64_t i = 0; i < rows; ++i) {
          for (std::int64_t j = 0; j < cols; ++j) {
            double sum = 0;
            double scaled = 0;
            for (std::int64_t k = 0; k < kRank; ++k) {
              const double term = of_rows.get(k * rows + i) * of_columns.get(k * cols + j);
              sum += term;
              scaled += scales[static_cast<std::size_t>(k)] * term;
            }
            const double taken = before.momentum.get(i * cols + j) + before.change.get(i * cols + j);
            ASSERT_NEAR(run.change.get(i * cols + j), scaled, tolerance * (1 + std::abs(scaled)));
            ASSERT_NEAR(run.momentum.get(i * cols + j), taken - ProjectionRun::kDropped * sum,
                        4 * tolerance * (1 + std::abs(taken) + std::abs(sum)));
          }
        }
      }
    }
  }
}

TEST_P(LowRankLoops, a_basis_that_is_zero_becomes_that_of_the_identity_in_the_simple_form) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const auto form : {rules::ProjectionForm::reference, rules::ProjectionForm::simple}) {
      ProjectionRun run(dtype, {7, 4, 3}, form);
      for (std::int64_t i = 0; i < 7; ++i) run.basis.set(7 + i, 0);
      const ProjectionRun before = run;
      run.fill_basis(backend_);
      for (std::int64_t i = 0; i < 21; ++i) {
        const bool is_unit = form == rules::ProjectionForm::simple && i == 7 + 1;
        EXPECT_EQ(run.basis.get(i), is_unit ? 1 : before.basis.get(i)) << i;
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
