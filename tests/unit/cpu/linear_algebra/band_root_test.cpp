// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Roots by way of a band.
#include "cpu/linear_algebra/band_root.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "cpu/linear_algebra/eigensolver/band_form.h"
#include "dense_tables.h"
#include "inverse_of.h"
#include "unit/support.h"

namespace gradstep::cpu {
namespace {

/// Empty if the matrix is refused.
template <class T>
std::vector<T> band_root_of(const Dense& dense, std::vector<T> a, std::int64_t n, const InverseOf& root,
                            double scale = 1, Context* threads = nullptr) {
  AlignedVector<T> packed;
  const Products<T> products(dense.in<T>(), packed, threads);
  BandForm<T> form;
  BandRoot<T> solver;
  form.reduce(products, a.data(), n);
  solver.begin(products, form.band(), n);
  solver.largest_eigenvalue();
  std::vector<T> f(a.size(), T{7});
  if (!solver.expand(root.ridge, root.exponent, scale)) return {};
  form.transform_function(products, a.data(), n, solver, f.data());
  return f;
}

template <class T>
class BandRootOf : public testing::Test {};
using BandPrecisions = testing::Types<float, double>;
TYPED_TEST_SUITE(BandRootOf, BandPrecisions);

// Sizes around those of blocks (8 and 16), of strips of columns (32 and 64) and of panels (64).
TYPED_TEST(BandRootOf, RaisedToThePowerItIsTheInverse) {
  for (const std::int64_t n : {1, 2, 7, 8, 9, 15, 16, 17, 31, 64, 65, 72, 100, 129, 137}) {
    for (const std::int64_t columns : {2 * n, std::max<std::int64_t>(1, n / 2)}) {
      const std::vector<TypeParam> a = gram<TypeParam>(n, columns);
      for (const InverseOf root : {InverseOf{4, 1e-2}, InverseOf{2, 1e-3}, InverseOf{1, 0.1}, InverseOf{6, 3}}) {
        SCOPED_TRACE(testing::Message() << n << ' ' << columns << ' ' << root.exponent);
        expect_root(band_root_of(*tables().back().dense, a, n, root, 0.5), a, n, root, 2);
      }
    }
  }
}

TYPED_TEST(BandRootOf, HasTheSameBitsWhereverThereAreFusedOperationsAndForEveryNumberOfThreads) {
  constexpr std::int64_t n = 530;  // of which products with the matrix are cut in strips
  const std::vector<TypeParam> a = gram<TypeParam>(n, 8);
  std::vector<TypeParam> first;
  for (const Table& table : tables()) {
    if (table.dense == &kDenseBaseline) continue;
    for (const int threads : {1, 3}) {
      const auto context = test::make_context(threads);
      const std::vector<TypeParam> f = band_root_of(*table.dense, a, n, {4, 1e-3}, 1, context.get());
      ASSERT_FALSE(f.empty());
      if (first.empty()) first = f;
      EXPECT_TRUE(first == f) << table.name << ' ' << threads;
    }
  }
}

// It is |v|^2 + 1 for v v^T + I, and the extension to whole blocks adds none that is larger.
TYPED_TEST(BandRootOf, TheLargestEigenvalueIsThatOfTheMatrix) {
  for (const std::int64_t n : {1, 5, 16, 33, 100}) {
    const auto size = static_cast<std::size_t>(n);
    const std::vector<TypeParam> v = random_numbers<TypeParam>(n, 3);
    std::vector<TypeParam> a(size * size);
    double expected = 1;
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t j = 0; j < size; ++j) a[i * size + j] = v[i] * v[j] + (i == j ? 1 : 0);
      expected += static_cast<double>(v[i]) * static_cast<double>(v[i]);
    }
    AlignedVector<TypeParam> packed;
    const Products<TypeParam> products(tables().back().dense->template in<TypeParam>(), packed);
    BandForm<TypeParam> form;
    BandRoot<TypeParam> solver;
    form.reduce(products, a.data(), n);
    solver.begin(products, form.band(), n);
    EXPECT_NEAR(solver.largest_eigenvalue(), expected, 50 * expected * std::numeric_limits<TypeParam>::epsilon()) << n;
  }
}

TYPED_TEST(BandRootOf, EigenvaluesBelowHalfTheRidgeAreRefused) {
  constexpr std::int64_t n = 40;
  std::vector<TypeParam> a(static_cast<std::size_t>(n * n), TypeParam{0});
  for (std::int64_t i = 0; i < n; ++i) a[static_cast<std::size_t>(i * n + i)] = static_cast<TypeParam>(1 + i % 3);
  for (const auto& [last, is_accepted] : {std::pair{-0.0049, true}, {-0.0051, false}, {-2.0, false}}) {
    a.back() = static_cast<TypeParam>(last);
    EXPECT_EQ(!band_root_of(*tables().back().dense, a, n, {4, 0.01}).empty(), is_accepted) << last;
  }
  EXPECT_TRUE(band_root_of(kDenseBaseline, a, n, {65, 100}).empty());
}

}  // namespace
}  // namespace gradstep::cpu
