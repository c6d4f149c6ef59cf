// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Roots by way of a band: F = (A + ridge I)^(-1/p) is right where F^p (A + ridge I) is the identity.
#include "cpu/linear_algebra/band_root.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "cpu/linear_algebra/eigensolver/band_form.h"
#include "cpu/linear_algebra/eigensolver/tridiagonal_form.h"
#include "cpu/linear_algebra/tridiagonal_root.h"
#include "dense_tables.h"
#include "unit/support.h"

namespace gradstep::cpu {
namespace {

struct InverseOf {
  std::int32_t exponent;
  double ridge;
};

/// G G^T / columns of random numbers, symmetric to the bit.
template <class T>
std::vector<T> gram(std::int64_t n, std::int64_t columns) {
  const std::vector<T> g = random_numbers<T>(n * columns, static_cast<unsigned>(n));
  const auto row = [&](std::int64_t i) { return g.begin() + i * columns; };
  std::vector<T> a(static_cast<std::size_t>(n * n));
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < columns; ++k) sum += static_cast<double>(row(i)[k]) * static_cast<double>(row(j)[k]);
      a[static_cast<std::size_t>(i * n + j)] = a[static_cast<std::size_t>(j * n + i)] =
          static_cast<T>(sum / static_cast<double>(columns));
    }
  }
  return a;
}

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

/// max |F^p (A + ridge I) - I| of `factor` F.
template <class T>
double residual(const std::vector<T>& f, const std::vector<T>& a, std::int64_t n, const InverseOf& root,
                double factor) {
  const auto size = static_cast<std::size_t>(n);
  std::vector<double> product(a.begin(), a.end());
  for (std::size_t i = 0; i < size; ++i) product[i * size + i] += root.ridge;
  for (std::int32_t times = 0; times < root.exponent; ++times) {
    std::vector<double> next(product.size(), 0);
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t k = 0; k < size; ++k) {
        for (std::size_t j = 0; j < size; ++j) {
          next[i * size + j] += factor * static_cast<double>(f[i * size + k]) * product[k * size + j];
        }
      }
    }
    product = std::move(next);
  }
  double worst = 0;
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < size; ++j) {
      worst = std::max(worst, std::abs(product[i * size + j] - (i == j ? 1.0 : 0.0)));
    }
  }
  return worst;
}

/// By the tridiagonal form, whose columns are written in parts from some size on.
template <class T>
std::vector<T> tridiagonal_root_of(const Dense& dense, std::vector<T> a, std::int64_t n, const InverseOf& root,
                                   double scale) {
  AlignedVector<T> packed;
  const Products<T> products(dense.in<T>(), packed);
  TridiagonalForm<T> form;
  TridiagonalRoot<T> solver;
  std::vector<T> diagonal(static_cast<std::size_t>(n));
  std::vector<T> off_diagonal(diagonal.size());
  form.reduce(products, a.data(), n, diagonal.data(), off_diagonal.data());
  solver.begin(products, diagonal.data(), off_diagonal.data(), n);
  solver.largest_eigenvalue();
  if (!solver.expand(root.ridge, root.exponent, scale)) return {};
  std::vector<T> f(a.size(), T{7});
  form.transform_function(products, a.data(), n, solver, f.data());
  return f;
}

template <class T>
class BandRootOf : public testing::Test {};
using BandPrecisions = testing::Types<float, double>;
TYPED_TEST_SUITE(BandRootOf, BandPrecisions);

// Sizes around those of blocks (8 and 16), of strips of columns (32 and 64) and of panels (64).
TYPED_TEST(BandRootOf, RaisedToThePowerItIsTheInverse) {
  const bool is_wide = sizeof(TypeParam) == sizeof(double);
  for (const std::int64_t n : {1, 2, 7, 8, 9, 15, 16, 17, 31, 64, 65, 72, 100, 129, 137}) {
    for (const std::int64_t columns : {2 * n, std::max<std::int64_t>(1, n / 2)}) {
      const std::vector<TypeParam> a = gram<TypeParam>(n, columns);
      for (const InverseOf root : {InverseOf{4, 1e-2}, InverseOf{2, 1e-3}, InverseOf{1, 0.1}, InverseOf{6, 3}}) {
        const std::vector<TypeParam> f = band_root_of(*tables().back().dense, a, n, root, 0.5);
        ASSERT_FALSE(f.empty());
        for (std::int64_t i = 0; i < n; ++i) {
          for (std::int64_t j = 0; j < i; ++j) {
            ASSERT_EQ(f[static_cast<std::size_t>(i * n + j)], f[static_cast<std::size_t>(j * n + i)]);
          }
        }
        // The rule's error, and rounding times the condition number.
        const double condition = 2 / root.ridge;
        const double tolerance = (is_wide ? 1e-10 : 1e-4) + 10 * std::numeric_limits<TypeParam>::epsilon() * condition;
        EXPECT_LE(residual(f, a, n, root, 2), tolerance) << n << ' ' << columns << ' ' << root.exponent;
      }
    }
  }
}

// Sizes around those of blocks of reflectors (32, and 64 from 256 on).
TYPED_TEST(BandRootOf, ByTheTridiagonalFormToo) {
  const bool is_wide = sizeof(TypeParam) == sizeof(double);
  for (const std::int64_t n : {1, 2, 31, 65, 129, 200, 257, 330}) {
    const std::vector<TypeParam> a = gram<TypeParam>(n, 2 * n);
    for (const InverseOf root : {InverseOf{4, 1e-2}, InverseOf{1, 0.1}}) {
      const std::vector<TypeParam> f = tridiagonal_root_of(*tables().back().dense, a, n, root, 0.5);
      ASSERT_FALSE(f.empty());
      const double condition = 2 / root.ridge;
      const double tolerance = (is_wide ? 1e-10 : 1e-4) + 10 * std::numeric_limits<TypeParam>::epsilon() * condition;
      EXPECT_LE(residual(f, a, n, root, 2), tolerance) << n << ' ' << root.exponent;
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
