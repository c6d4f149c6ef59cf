// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Products over the axes of blocks whose sizes convolutions have, against sums in f64.
#include "cpu/linear_algebra/turned_block.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "dense_tables.h"

namespace gradstep::cpu {
namespace {

using Extents = std::vector<std::int64_t>;

const std::vector<Extents> kShapes = {{13, 7, 3, 3}, {16, 20, 3},     {5, 6, 1, 1}, {4, 3, 7, 7},
                                      {2, 5, 3},     {1, 9, 1},       {33, 5, 9},   {6},
                                      {8, 5},        {3, 2, 2, 5, 2}, {2, 40, 35},  {17, 1, 18, 2}};

std::vector<FactorPlan> axes_of(const Extents& extents) {
  std::vector<FactorPlan> axes(extents.size());
  std::int64_t size = 1;
  for (const std::int64_t extent : extents) size *= extent;
  std::int64_t outer = 1;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    axes[k].outer = outer;
    axes[k].n = extents[k];
    outer *= extents[k];
    axes[k].inner = size / outer;
  }
  return axes;
}

/// y[o, j, i] = sum of x[o, k, i] p[k, j], or p[j, k] by columns.
template <class T>
std::vector<double> contracted(const std::vector<double>& x, const FactorPlan& axis, const std::vector<T>& p,
                               bool by_columns) {
  std::vector<double> y(x.size());
  for (std::int64_t o = 0; o < axis.outer; ++o) {
    for (std::int64_t j = 0; j < axis.n; ++j) {
      for (std::int64_t i = 0; i < axis.inner; ++i) {
        double sum = 0;
        for (std::int64_t k = 0; k < axis.n; ++k) {
          const std::int64_t at = by_columns ? j * axis.n + k : k * axis.n + j;
          sum += x[static_cast<std::size_t>((o * axis.n + k) * axis.inner + i)] * p[static_cast<std::size_t>(at)];
        }
        y[static_cast<std::size_t>((o * axis.n + j) * axis.inner + i)] = sum;
      }
    }
  }
  return y;
}

template <class T>
class TurnedBlocks : public testing::Test {
 public:
  /// Contracts the axes of `mask` with matrices of their own, by TurnedBlock and one after the other.
  static void compare(const Table& table, const Extents& extents, unsigned mask, bool by_columns) {
    const std::vector<FactorPlan> axes = axes_of(extents);
    const std::int64_t size = axes[0].n * axes[0].inner;
    std::vector<T> x = random_numbers<T>(size, 1);
    std::vector<T> room(x.size());
    std::vector<double> expected(x.begin(), x.end());
    AlignedVector<T> packed;
    TurnedBlock<T> block({table.dense->in<T>(), packed}, x.data(), room.data(), size);
    for (std::size_t k = 0; k < axes.size(); ++k) {
      if ((mask >> k & 1U) == 0) continue;
      const std::vector<T> p = random_numbers<T>(axes[k].n * axes[k].n, static_cast<unsigned>(10 + k));
      block.contract(axes[k], p.data(), by_columns);
      expected = contracted(expected, axes[k], p, by_columns);
    }
    block.turn(1);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_NEAR(block.x()[i], expected[i], 300 * std::numeric_limits<T>::epsilon())
          << table.name << " mask " << mask << " element " << i << " of " << testing::PrintToString(extents);
    }
  }
};

using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(TurnedBlocks, Types);

TYPED_TEST(TurnedBlocks, AreContractedAlongAllAxesOrSome) {
  for (const Table& table : tables()) {
    for (const Extents& extents : kShapes) {
      for (unsigned mask = 1; mask < 1U << extents.size(); ++mask) {
        for (const bool by_columns : {false, true}) {
          TestFixture::compare(table, extents, mask, by_columns);
          if (this->HasFatalFailure()) return;
        }
      }
    }
  }
}

TYPED_TEST(TurnedBlocks, HaveStatisticsOfTheAxisThatComesFirst) {
  using T = TypeParam;
  for (const Table& table : tables()) {
    for (const Extents& extents : kShapes) {
      for (const FactorPlan& axis : axes_of(extents)) {
        const std::int64_t others = axis.outer * axis.inner;
        std::vector<T> x = random_numbers<T>(others * axis.n, 1);
        const std::vector<T> lying = x;
        std::vector<T> room(x.size());
        AlignedVector<T> packed;
        const Products<T> products(table.dense->in<T>(), packed);
        TurnedBlock<T> block(products, x.data(), room.data(), others * axis.n);
        block.turn(axis.outer);
        std::vector<T> s(static_cast<std::size_t>(axis.n * axis.n), T(2));
        update_statistic(products, block.x(), AxisLayout::first(axis.n, others), T(0.5), T(0.25), s.data());
        for (std::int64_t a = 0; a < axis.n; ++a) {
          for (std::int64_t b = 0; b < axis.n; ++b) {
            double sum = 0;
            for (std::int64_t o = 0; o < axis.outer; ++o) {
              for (std::int64_t i = 0; i < axis.inner; ++i) {
                const auto at = [&](std::int64_t place) {
                  return static_cast<double>(lying[static_cast<std::size_t>((o * axis.n + place) * axis.inner + i)]);
                };
                sum += at(a) * at(b);
              }
            }
            ASSERT_NEAR(s[static_cast<std::size_t>(a * axis.n + b)], 1 + 0.25 * sum,
                        static_cast<T>(others) * std::numeric_limits<T>::epsilon())
                << table.name << ' ' << testing::PrintToString(extents);
          }
        }
      }
    }
  }
}

/// To the bit: contractions sum along the axis alone.
TYPED_TEST(TurnedBlocks, ContractAsSlicesDo) {
  using T = TypeParam;
  for (const Table& table : tables()) {
    for (const Extents& extents : kShapes) {
      for (const FactorPlan& axis : axes_of(extents)) {
        const std::int64_t slice = axis.n * axis.inner;
        std::vector<T> x = random_numbers<T>(axis.outer * slice, 1);
        std::vector<T> expected(x.size());
        const std::vector<T> p = random_numbers<T>(axis.n * axis.n, 2);
        AlignedVector<T> packed;
        const Products<T> products(table.dense->in<T>(), packed);
        const AxisLayout rows = AxisLayout::first(axis.n, axis.inner);
        for (std::int64_t o = 0; o < axis.outer; ++o) {
          contract_axis(products, x.data() + o * slice, rows, p.data(), false, expected.data() + o * slice, rows);
        }
        std::vector<T> room(x.size());
        TurnedBlock<T> block(products, x.data(), room.data(), axis.outer * slice);
        block.contract(axis, p.data(), false);
        block.turn(1);
        const std::vector<T> result(block.x(), block.x() + expected.size());
        EXPECT_TRUE(result == expected) << table.name << ' ' << testing::PrintToString(extents);
      }
    }
  }
}

}  // namespace
}  // namespace gradstep::cpu
