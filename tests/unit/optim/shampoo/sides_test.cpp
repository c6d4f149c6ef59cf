// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Which axes are preconditioned, and with which exponent: one step beside the same in plain loops.
#include "cpu/linear_algebra/roots.h"
#include "unit/optim/shampoo/shampoo_fixture.h"

namespace gradstep::test {
namespace {

/// The bare preconditioned gradient is the step.
gradstep_shampoo_options bare(std::int32_t one_sided) {
  auto o = default_shampoo_options();
  o.learning_rate = 1;
  o.block_size = 16;
  o.beta1 = 0;
  o.beta2 = 1;
  o.nesterov = 0;
  o.graft_type = GRADSTEP_GRAFT_TYPE_NONE;
  o.start_preconditioning_step = 0;
  o.best_effort_shape_interpretation = 0;
  o.one_sided = one_sided;
  return o;
}

std::vector<float> step_of(const gradstep_shampoo_options& o, const std::vector<std::int64_t>& shape,
                           const std::vector<float>& gradient) {
  auto optimizer = make_shampoo(o, 1, {shape});
  TestTensor<float> p(shape);
  TestTensor<float> g(shape);
  g.values = gradient;
  const gradstep_tensor param = p.tensor();
  const gradstep_tensor grad = g.tensor();
  host::step(*optimizer, &param, &grad, nullptr, 1);
  for (float& value : p.values) value = -value;
  return p.values;
}

/// g, shaped (outer, n, inner), with its middle axis multiplied by (epsilon I + g g^T + ridge)^(-1/p).
std::vector<float> precondition_axis(const std::vector<float>& g, const std::vector<float>& values, std::size_t outer,
                                     std::size_t n, std::size_t inner, std::int32_t p) {
  std::vector<float> s(n * n, 0);
  const auto at = [&](std::size_t i, std::size_t j, std::size_t k) { return (i * n + j) * inner + k; };
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = 0; b < n; ++b) {
      double sum = a == b ? 1e-6 : 0;
      for (std::size_t i = 0; i < outer; ++i) {
        for (std::size_t k = 0; k < inner; ++k) sum += static_cast<double>(g[at(i, a, k)]) * g[at(i, b, k)];
      }
      s[a * n + b] = static_cast<float>(sum);
    }
  }
  cpu::RootSolver<double> solver;
  cpu::RootOptions options;
  options.exponent = p;
  solver.inverse_root(s.data(), static_cast<std::int64_t>(n), options);
  std::vector<float> result(values.size());
  for (std::size_t i = 0; i < outer; ++i) {
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t k = 0; k < inner; ++k) {
        double sum = 0;
        for (std::size_t b = 0; b < n; ++b) sum += solver.root()[a * n + b] * static_cast<double>(values[at(i, b, k)]);
        result[at(i, a, k)] = static_cast<float>(sum);
      }
    }
  }
  return result;
}

void expect_near(const std::vector<float>& actual, const std::vector<float>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  float largest = 0;
  for (const float value : expected) largest = std::max(largest, std::abs(value));
  for (std::size_t k = 0; k < actual.size(); ++k) EXPECT_NEAR(actual[k], expected[k], 1e-4F * largest) << k;
}

TEST(ShampooSides, InputIsAllAxesButTheLast) {
  const auto g = random_values<float>(6 * 5 * 7, 3);
  auto expected = precondition_axis(g, g, 1, 6, 35, 4);
  expected = precondition_axis(g, expected, 6, 5, 7, 4);
  expect_near(step_of(bare(GRADSTEP_ONE_SIDED_INPUT), {6, 5, 7}, g), expected);
}

TEST(ShampooSides, OutputIsTheLastAxis) {
  const auto g = random_values<float>(6 * 5, 3);
  expect_near(step_of(bare(GRADSTEP_ONE_SIDED_OUTPUT), {6, 5}, g), precondition_axis(g, g, 6, 5, 1, 2));
}

TEST(ShampooSides, AVectorHasOneSideOnly) {
  const auto g = random_values<float>(9, 3);
  const auto both = step_of(bare(GRADSTEP_ONE_SIDED_NONE), {9}, g);
  EXPECT_EQ(step_of(bare(GRADSTEP_ONE_SIDED_INPUT), {9}, g), both);
  EXPECT_EQ(step_of(bare(GRADSTEP_ONE_SIDED_OUTPUT), {9}, g), both);
}

TEST(ShampooSides, OneSidedALongAxisIsLeftAloneAndNotItsTensor) {
  const auto g = random_values<float>(12 * 5 * 3, 3);
  auto o = bare(GRADSTEP_ONE_SIDED_INPUT);
  o.skip_preconditioning_dim_size_gt = 8;
  expect_near(step_of(o, {12, 5, 3}, g), precondition_axis(g, g, 12, 5, 3, 2));
  // Both sides: the whole tensor is skipped, and without grafting that is plain descent.
  o.one_sided = GRADSTEP_ONE_SIDED_NONE;
  EXPECT_EQ(step_of(o, {12, 5, 3}, g), g);
  // Nothing is left of this side.
  o.one_sided = GRADSTEP_ONE_SIDED_OUTPUT;
  EXPECT_EQ(step_of(o, {5, 12}, random_values<float>(60, 3)), random_values<float>(60, 3));
}

TEST(ShampooSides, TheLimitIsOnTheParametersOwnDimensions) {
  auto o = bare(GRADSTEP_ONE_SIDED_INPUT);
  o.best_effort_shape_interpretation = 1;
  o.skip_preconditioning_dim_size_gt = 8;
  const auto g = random_values<float>(4 * 4 * 12, 3);
  // 4 * 4 are merged into 16, which is no dimension of the parameter.
  expect_near(step_of(o, {4, 4, 12}, g), precondition_axis(g, g, 1, 16, 12, 2));
}

TEST(ShampooSides, StatesAreNamedByTheAxisOfTheTensor) {
  auto o = shampoo_options();
  o.one_sided = GRADSTEP_ONE_SIDED_OUTPUT;
  auto optimizer = make_shampoo(o);
  EXPECT_EQ(copy_of_state(*optimizer, 0, "statistics.0.1").size(), 16U);
  expect_error(GRADSTEP_ERR_INVALID_STATE, "statistics.0.0", [&] { optimizer->state().view(0, "statistics.0.0"); });
  std::int64_t bytes = 0;
  for (const StoredState& stored : optimizer->state().stored()) bytes += stored.array.bytes();
  EXPECT_EQ(bytes, Shampoo::state_bytes(o, make_schema(kShapes)));
}

}  // namespace
}  // namespace gradstep::test
