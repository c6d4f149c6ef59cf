// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// KL-Shampoo's statistics, and ridges that do not follow the largest eigenvalue, beside the same in plain loops.
#include "unit/optim/shampoo/shampoo_fixture.h"

namespace gradstep::test {
namespace {

using Shape = std::vector<std::int64_t>;
using Numbers = std::vector<double>;

constexpr auto kKl = GRADSTEP_SHAMPOO_STATISTICS_KL;
constexpr auto kKlMean = GRADSTEP_SHAMPOO_STATISTICS_KL_MEAN;

gradstep_shampoo_options kl_options(std::int32_t statistics = kKl) {
  auto o = shampoo_options();
  o.statistics = statistics;
  o.best_effort_shape_interpretation = 0;
  return o;
}

/// A block of one parameter: where it begins, and its extents.
struct Box {
  Shape first;
  Shape extents;
};

std::int64_t elements_of(std::span<const std::int64_t> shape) {
  std::int64_t size = 1;
  for (const std::int64_t extent : shape) size *= extent;
  return size;
}

/// A box of a row-major tensor.
Numbers cut(const Numbers& tensor, const Shape& shape, const Box& box) {
  Numbers block;
  for (std::int64_t i = 0; i < elements_of(box.extents); ++i) {
    std::int64_t rest = i;
    std::int64_t position = 0;
    std::int64_t stride = 1;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      position += (box.first[axis] + rest % box.extents[axis]) * stride;
      rest /= box.extents[axis];
      stride *= shape[axis];
    }
    block.push_back(tensor[static_cast<std::size_t>(position)]);
  }
  return block;
}

/// x, shaped (outer, n, inner), contracted with the rows of p (n, n).
Numbers contracted(const Numbers& x, const Numbers& p, std::size_t n, std::size_t inner) {
  Numbers y(x.size(), 0);
  for (std::size_t at = 0; at < x.size(); ++at) {
    const std::size_t j = at / inner % n;
    for (std::size_t k = 0; k < n; ++k) y[at] += p[j * n + k] * x[at - j * inner + k * inner];
  }
  return y;
}

/// x contracted with itself over all axes but one.
Numbers outer_product(const Numbers& x, std::size_t n, std::size_t inner) {
  Numbers s(n * n, 0);
  for (std::size_t at = 0; at < x.size(); ++at) {
    const std::size_t j = at / inner % n;
    for (std::size_t k = 0; k < n; ++k) s[j * n + k] += x[at] * x[at - j * inner + k * inner];
  }
  return s;
}

std::size_t inner_of(const Shape& extents, std::size_t axis) {
  return static_cast<std::size_t>(
      elements_of(Shape(extents.begin() + static_cast<std::ptrdiff_t>(axis) + 1, extents.end())));
}

Numbers state_of(Optimizer& optimizer, const char* name, std::size_t block, std::size_t axis) {
  const std::string full = std::string(name) + "." + std::to_string(block) + "." + std::to_string(axis);
  Numbers values(static_cast<std::size_t>(elements_of(optimizer.state().shape(0, full.c_str()))));
  optimizer.state().get(0, full.c_str(),
                        {values.data(), static_cast<std::int64_t>(values.size()), DType::f64, 0, nullptr, nullptr});
  return values;
}

void expect_near(const Numbers& found, const Numbers& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  double largest = 0;
  for (const double value : expected) largest = std::max(largest, std::abs(value));
  for (std::size_t k = 0; k < found.size(); ++k) EXPECT_NEAR(found[k], expected[k], tolerance * largest) << k;
}

/// What every block's statistics were, and the preconditioners that stood when they were updated.
struct Before {
  std::vector<Numbers> statistics;
  std::vector<Numbers> roots;
};

Before look(Optimizer& optimizer, const std::vector<Box>& boxes) {
  Before before;
  for (std::size_t b = 0; b < boxes.size(); ++b) {
    for (std::size_t axis = 0; axis < boxes[b].extents.size(); ++axis) {
      before.statistics.push_back(state_of(optimizer, "statistics", b, axis));
      before.roots.push_back(state_of(optimizer, "preconditioners", b, axis));
    }
  }
  return before;
}

/// Steps a f64 parameter, and after each step holds its statistics beside those made in plain loops.
void expect_statistics(const gradstep_shampoo_options& o, const Shape& shape, const std::vector<Box>& boxes) {
  auto optimizer = make_shampoo(o, 1, {shape}, DType::f64);
  TestTensor<double> p(shape);
  TestTensor<double> g(shape);
  for (std::uint32_t t = 0; t < 5; ++t) {
    g.values = random_values<double>(g.values.size(), 7 + t);
    const Before before = look(*optimizer, boxes);
    const gradstep_tensor param = p.tensor();
    const gradstep_tensor grad = g.tensor();
    host::step(*optimizer, &param, &grad, nullptr, 1);
    std::size_t matrix = 0;
    for (std::size_t b = 0; b < boxes.size(); ++b) {
      const Shape& extents = boxes[b].extents;
      const std::size_t first = matrix;
      for (std::size_t axis = 0; axis < extents.size(); ++axis, ++matrix) {
        Numbers x = cut(g.values, shape, boxes[b]);
        for (std::size_t other = 0; other < extents.size(); ++other) {
          if (other == axis) continue;
          x = contracted(x, before.roots[first + other], static_cast<std::size_t>(extents[other]),
                         inner_of(extents, other));
        }
        const auto n = static_cast<std::size_t>(extents[axis]);
        const Numbers product = outer_product(x, n, inner_of(extents, axis));
        const double mean = o.statistics == kKlMean ? static_cast<double>(n) / static_cast<double>(x.size()) : 1;
        Numbers expected = before.statistics[matrix];
        for (std::size_t k = 0; k < expected.size(); ++k) {
          expected[k] = o.beta2 * expected[k] + (1 - o.beta2) * mean * product[k];
        }
        SCOPED_TRACE(testing::Message() << "step " << t << ", block " << b << ", axis " << axis);
        expect_near(state_of(*optimizer, "statistics", b, axis), expected, 1e-12);
      }
    }
  }
}

TEST(ShampooKl, StatisticsAreOfGradientsThatAreContractedAlongTheOtherAxes) {
  for (const std::int32_t statistics : {kKl, kKlMean}) {
    for (const std::int64_t root_steps : {1, 2}) {
      auto o = kl_options(statistics);
      o.beta2 = 0.9;
      o.preconditioning_compute_steps = root_steps;
      expect_statistics(o, {4, 3}, {{{0, 0}, {4, 3}}});
      expect_statistics(o, {4, 3, 2}, {{{0, 0, 0}, {4, 3, 2}}});
      expect_statistics(o, {2, 3, 2, 4}, {{{0, 0, 0, 0}, {2, 3, 2, 4}}});
      // A last block of one column is read through a copy.
      expect_statistics(o, {4, 5}, {{{0, 0}, {4, 4}}, {{0, 4}, {4, 1}}});
    }
  }
}

TEST(ShampooKl, RootsThatServeLaterMakeTheStatisticsWhenTheyServe) {
  auto o = kl_options();
  o.beta2 = 0.9;
  o.refresh = GRADSTEP_REFRESH_STALE;
  expect_statistics(o, {4, 3}, {{{0, 0}, {4, 3}}});
}

TEST(ShampooKl, OneAxisHasTheStatisticsOfTheGradients) {
  const auto g = random_values<float>(12, 3);
  const auto step = [&](const gradstep_shampoo_options& o, const Shape& shape) {
    auto optimizer = make_shampoo(o, 1, {shape});
    TestTensor<float> p(shape);
    TestTensor<float> grad(shape);
    grad.values = g;
    for (int t = 0; t < 3; ++t) {
      const gradstep_tensor param = p.tensor();
      const gradstep_tensor gradient = grad.tensor();
      host::step(*optimizer, &param, &gradient, nullptr, 1);
    }
    return p.values;
  };
  auto o = shampoo_options();
  auto kl = kl_options();
  o.best_effort_shape_interpretation = 0;
  EXPECT_EQ(step(kl, {12}), step(o, {12}));
  EXPECT_NE(step(kl, {4, 3}), step(o, {4, 3}));
  o.one_sided = kl.one_sided = GRADSTEP_ONE_SIDED_OUTPUT;
  EXPECT_EQ(step(kl, {4, 3}), step(o, {4, 3}));
}

TEST(ShampooKl, ThreadsAndResumingChangeNoBit) {
  for (const std::int32_t coded : {0, 1}) {
    auto o = kl_options();
    o.quantize_statistics = coded;
    o.preconditioning_compute_steps = 2;
    Model<float> expected;
    run(expected, *make_shampoo(o), 0, 6);
    Model<float> model;
    auto first = make_shampoo(o, 3);
    run(model, *first, 0, 3);
    auto second = make_shampoo(o, 2);
    resume(*first, *second);
    run(model, *second, 3, 6);
    expect_equal_params(model, expected);
  }
}

TEST(ShampooKl, StateIsThatOfShampoo) {
  const auto o = kl_options();
  auto plain = o;
  plain.statistics = GRADSTEP_SHAMPOO_STATISTICS_GRADIENTS;
  EXPECT_EQ(Shampoo::state_bytes(o, make_schema(kShapes)), Shampoo::state_bytes(plain, make_schema(kShapes)));
}

/// P of a statistic S of n rows: |P^p (S + ridge I) - I| is to be small.
void expect_ridge(std::int64_t n, std::int32_t method, double ridge) {
  auto o = shampoo_options();
  o.block_size = n;
  o.root_method = method;
  o.ridge = GRADSTEP_RIDGE_ABSOLUTE;
  o.matrix_epsilon = ridge;
  auto optimizer = make_shampoo(o, 1, {{n}}, DType::f64);
  TestTensor<double> p({n});
  TestTensor<double> g({n});
  for (std::uint32_t t = 0; t < 3; ++t) {
    g.values = random_values<double>(static_cast<std::size_t>(n), 5 + t);
    const gradstep_tensor param = p.tensor();
    const gradstep_tensor grad = g.tensor();
    host::step(*optimizer, &param, &grad, nullptr, 1);
  }
  const auto extent = static_cast<std::size_t>(n);
  Numbers damped = state_of(*optimizer, "statistics", 0, 0);
  for (std::size_t i = 0; i < extent; ++i) damped[i * extent + i] += ridge;
  const Numbers root = state_of(*optimizer, "preconditioners", 0, 0);
  Numbers product = damped;
  for (int k = 0; k < 2; ++k) product = contracted(product, root, extent, extent);  // p = 2
  for (std::size_t i = 0; i < extent; ++i) {
    for (std::size_t j = 0; j < extent; ++j)
      EXPECT_NEAR(product[i * extent + j], i == j ? 1 : 0, 1e-6) << i << "," << j;
  }
}

TEST(ShampooKl, AnAbsoluteRidgeIsTheEpsilonItself) {
  for (const std::int32_t method : {GRADSTEP_ROOT_METHOD_EIGH, GRADSTEP_ROOT_METHOD_COUPLED_NEWTON}) {
    for (const std::int64_t n : {1, 7, 40}) {
      for (const double ridge : {1e-4, 0.5}) expect_ridge(n, method, ridge);
    }
  }
}

}  // namespace
}  // namespace gradstep::test
