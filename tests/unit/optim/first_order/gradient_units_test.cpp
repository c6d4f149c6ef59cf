// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Adaptive gradient clipping and centered gradients, beside their definitions. (Recorded numbers of optax and
// pytorch_optimizer: tests/conformance/rules.)
#include "optim/first_order/gradient_units.h"

#include "optim/first_order/named_options.h"
#include "unit/optim/optimizer_fixture.h"

namespace gradstep::test {
namespace {

constexpr std::int64_t kRows = 3;
constexpr std::int64_t kColumns = kChunk + 5;  // a row has two chunks

struct Stepped {
  std::vector<double> before;
  std::vector<double> gradient;
  std::vector<double> seen;  ///< by the rule, from the step that it made
};

/// A step of SGD with rate 1 of a matrix that lies by rows, or by columns.
Stepped step(std::vector<gradstep_option> options, bool by_columns, double scale = 1) {
  options.push_back({"learning_rate", 1, nullptr});
  std::vector<std::int64_t> shape = {kRows, kColumns};
  FirstOrderOptimizer optimizer(make_context(), make_rule(find_rule("sgd"), options), make_schema({shape}, DType::f64));
  TestTensor<double> param(shape);
  TestTensor<double> grad(shape);
  param.values = random_values<double>(kRows * kColumns, 1);
  Stepped run{param.values, random_values<double>(kRows * kColumns, 2), {}};
  std::int64_t strides[] = {by_columns ? 1 : kColumns, by_columns ? kRows : 1};
  for (std::int64_t r = 0; r < kRows; ++r) {
    for (std::int64_t c = 0; c < kColumns; ++c) {
      grad.values[static_cast<std::size_t>(r * strides[0] + c * strides[1])] =
          run.gradient[static_cast<std::size_t>(r * kColumns + c)];
    }
  }
  const gradstep_tensor p = param.tensor();
  gradstep_tensor g = grad.tensor();
  g.strides = strides;
  StepGuards guards;
  guards.grad_scale = scale;
  host::step(optimizer, &p, &g, nullptr, 1, guards);
  for (std::size_t k = 0; k < param.values.size(); ++k) {
    run.seen.push_back((run.before[k] - param.values[k]) / scale);
  }
  return run;
}

double norm_of_row(const std::vector<double>& values, std::int64_t row) {
  double sum = 0;
  for (std::int64_t c = 0; c < kColumns; ++c) {
    const double x = values[static_cast<std::size_t>(row * kColumns + c)];
    sum += x * x;
  }
  return std::sqrt(sum);
}

TEST(GradientUnits, ARowIsClippedByTheLengthOfItsWeights) {
  for (const bool by_columns : {false, true}) {
    const Stepped run = step({{"adaptive_clip", 0.5, nullptr}}, by_columns, 4);
    for (std::int64_t r = 0; r < kRows; ++r) {
      const double factor = 0.5 * norm_of_row(run.before, r) / (4 * norm_of_row(run.gradient, r));
      ASSERT_LT(factor, 1);
      for (std::int64_t c = 0; c < kColumns; ++c) {
        const auto k = static_cast<std::size_t>(r * kColumns + c);
        ASSERT_NEAR(run.seen[k], factor * run.gradient[k], 1e-13);
      }
    }
  }
}

TEST(GradientUnits, AShortGradientIsLeftAlone) {
  const Stepped run = step({{"adaptive_clip", 10, nullptr}}, false);
  for (std::size_t k = 0; k < run.seen.size(); ++k) ASSERT_NEAR(run.seen[k], run.gradient[k], 1e-15);
}

TEST(GradientUnits, ColumnsAreUnitsToo) {
  const Stepped run = step({{"adaptive_clip", 0.25, nullptr}, {"adaptive_clip_units", 0, "columns"}}, false);
  for (const std::int64_t c : {std::int64_t{0}, std::int64_t{7}, kColumns - 1}) {
    double p = 0;
    double g = 0;
    for (std::int64_t r = 0; r < kRows; ++r) {
      const auto k = static_cast<std::size_t>(r * kColumns + c);
      p += run.before[k] * run.before[k];
      g += run.gradient[k] * run.gradient[k];
    }
    const double factor = std::min(1.0, 0.25 * std::sqrt(p) / std::sqrt(g));
    for (std::int64_t r = 0; r < kRows; ++r) {
      const auto k = static_cast<std::size_t>(r * kColumns + c);
      EXPECT_NEAR(run.seen[k], factor * run.gradient[k], 1e-14);
    }
  }
}

TEST(GradientUnits, CenteredRowsHaveNoMean) {
  for (const bool by_columns : {false, true}) {
    const Stepped run = step({{"center_gradients", 1, nullptr}}, by_columns);
    for (std::int64_t r = 0; r < kRows; ++r) {
      double mean = 0;
      for (std::int64_t c = 0; c < kColumns; ++c) mean += run.gradient[static_cast<std::size_t>(r * kColumns + c)];
      mean /= kColumns;
      for (std::int64_t c = 0; c < kColumns; ++c) {
        const auto k = static_cast<std::size_t>(r * kColumns + c);
        ASSERT_NEAR(run.seen[k], run.gradient[k] - mean, 1e-14);
      }
    }
  }
}

}  // namespace
}  // namespace gradstep::test
