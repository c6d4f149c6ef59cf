// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Against the eigenvectors of matrices whose eigenvectors are known: T with a on the diagonal and b beside it has the
// eigenvalues a + 2 b cos(m pi / (n + 1)) and sines for vectors.
#include "cpu/linear_algebra/tridiagonal_root.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "cpu/linear_algebra/eigensolver/tridiagonal_form.h"
#include "dense_tables.h"
#include "inverse_of.h"

namespace gradstep::cpu {
namespace {

template <class T>
struct Matrix {
  std::vector<T> diagonal;
  std::vector<T> off_diagonal;

  std::int64_t n() const { return static_cast<std::int64_t>(diagonal.size()); }
};

template <class T>
Matrix<T> matrix_of_constants(std::int64_t n, double a, double b) {
  return {std::vector<T>(static_cast<std::size_t>(n), static_cast<T>(a)),
          std::vector<T>(static_cast<std::size_t>(n), static_cast<T>(b))};
}

struct Root {
  std::int32_t exponent;
  double ridge;
};

/// The lower triangle, whose columns are written in parts that begin with these; empty if the matrix is refused.
template <class T>
std::vector<T> root_of(const Dense& dense, const Matrix<T>& matrix, const Root& root, double scale = 1,
                       const std::vector<std::int64_t>& parts = {0}) {
  AlignedVector<T> packed;
  const Products<T> products(dense.in<T>(), packed);
  TridiagonalRoot<T> solver;
  solver.begin(products, matrix.diagonal.data(), matrix.off_diagonal.data(), matrix.n());
  solver.largest_eigenvalue();
  std::vector<T> f(static_cast<std::size_t>(matrix.n() * matrix.n()));
  if (!solver.expand(root.ridge, root.exponent, scale)) return {};
  std::int64_t written = matrix.n();
  for (const std::int64_t begin : parts) {
    if (written > 0) written = solver.write_columns(products, begin, f.data());
    EXPECT_TRUE(written == begin || written == 0) << written << " for " << begin;
  }
  for (std::int64_t i = 0; i < matrix.n(); ++i) {
    std::fill_n(f.begin() + i * matrix.n() + i + 1, matrix.n() - i - 1, T{0});
  }
  return f;
}

/// The root of a symmetric matrix (n, n). Empty if it is refused.
template <class T>
std::vector<T> root_by_form(const Dense& dense, std::vector<T> a, std::int64_t n, const InverseOf& root, double scale) {
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

/// The lower triangle, of a on the diagonal and b beside it.
std::vector<long double> expected_root(std::int64_t n, double a, double b, const Root& root) {
  const auto size = static_cast<std::size_t>(n);
  std::vector<long double> sines(size * size);
  std::vector<long double> values(size);
  for (std::size_t m = 0; m < size; ++m) {
    const long double angle = std::numbers::pi_v<long double> * static_cast<long double>(m + 1) / (n + 1);
    values[m] = std::pow(a + 2 * b * std::cos(angle) + root.ridge, -1.0L / root.exponent) * 2 / (n + 1);
    for (std::size_t j = 0; j < size; ++j) sines[j * size + m] = std::sin(static_cast<long double>(j + 1) * angle);
  }
  std::vector<long double> f(size * size, 0);
  for (std::size_t j = 0; j < size; ++j) {
    for (std::size_t k = 0; k <= j; ++k) {
      for (std::size_t m = 0; m < size; ++m) f[j * size + k] += sines[j * size + m] * sines[k * size + m] * values[m];
    }
  }
  return f;
}

template <class T>
class TridiagonalRootOf : public testing::Test {};
using RootPrecisions = testing::Types<float, double>;
TYPED_TEST_SUITE(TridiagonalRootOf, RootPrecisions);

// Sizes around those of groups of columns (8 and 16).
TYPED_TEST(TridiagonalRootOf, IsThatOfTheEigenvectors) {
  const bool is_wide = sizeof(TypeParam) == sizeof(double);
  for (const std::int64_t n : {1, 2, 7, 8, 9, 16, 17, 100}) {
    for (const double b : {-1.0, 1.0, 0.3, 0.0}) {
      const Matrix<TypeParam> matrix = matrix_of_constants<TypeParam>(n, 2, b);
      for (const Root root : {Root{4, 1e-3}, Root{2, 1e-6}, Root{1, 0.1}, Root{8, 1e-3}, Root{3, 50}}) {
        const std::vector<TypeParam> found = root_of<TypeParam>(*tables().back().dense, matrix, root, 0.5);
        ASSERT_FALSE(found.empty());
        const std::vector<long double> expected =
            expected_root(n, 2, static_cast<double>(matrix.off_diagonal[0]), root);
        double worst = 0;
        double norm = 0;
        for (std::size_t k = 0; k < expected.size(); ++k) {
          norm = std::max(norm, static_cast<double>(std::abs(expected[k])));
          worst = std::max(worst, static_cast<double>(std::abs(found[k] - expected[k] / 2)));
        }
        // The rule's error, and rounding times the condition number.
        const double condition = 4 / root.ridge;
        const double tolerance = (is_wide ? 1e-11 : 1e-5) + 4 * std::numeric_limits<TypeParam>::epsilon() * condition;
        EXPECT_LE(worst, norm * tolerance) << n << ' ' << b << ' ' << root.exponent;
      }
    }
  }
}

TYPED_TEST(TridiagonalRootOf, HasTheSameBitsOnEveryInstructionSet) {
  Matrix<TypeParam> matrix{random_numbers<TypeParam>(150, 1), random_numbers<TypeParam>(150, 2)};
  for (TypeParam& x : matrix.diagonal) x += 3;
  const std::vector<TypeParam> baseline = root_of(kDenseBaseline, matrix, {4, 1e-3});
  ASSERT_FALSE(baseline.empty());
  for (const Table& table : tables()) EXPECT_EQ(baseline, root_of(*table.dense, matrix, {4, 1e-3})) << table.name;
}

// Elements are sums of numbers of one sign: each is as accurate in parts as at once, but for what is left out.
TYPED_TEST(TridiagonalRootOf, ColumnsMayBeWrittenInParts) {
  constexpr std::int64_t kRows = 300;
  Matrix<TypeParam> matrix{random_numbers<TypeParam>(kRows, 1), random_numbers<TypeParam>(kRows, 2)};
  for (TypeParam& x : matrix.diagonal) x += 3;
  matrix.off_diagonal[250] = 0;
  for (const Table& table : tables()) {
    const std::vector<TypeParam> at_once = root_of(*table.dense, matrix, {4, 1e-3}, 0.5);
    for (const std::vector<std::int64_t>& parts :
         {std::vector<std::int64_t>{1, 0}, {299, 298, 160, 159, 0}, {290, 226, 162, 98, 34, 0}}) {
      const std::vector<TypeParam> in_parts = root_of(*table.dense, matrix, {4, 1e-3}, 0.5, parts);
      for (std::size_t k = 0; k < at_once.size(); ++k) {
        const double expected = static_cast<double>(at_once[k]);
        const double slack = static_cast<double>(kRows * std::numeric_limits<TypeParam>::epsilon());
        ASSERT_NEAR(static_cast<double>(in_parts[k]), expected,
                    slack * std::abs(expected) + 1e3 * static_cast<double>(kVanished<TypeParam>))
            << table.name << ' ' << parts[0] << ": " << k / kRows << ", " << k % kRows;
      }
    }
  }
}

// Sizes around those of blocks of reflectors (32, and 64 from 256 on). Larger ones are written in parts.
TYPED_TEST(TridiagonalRootOf, OfAMatrixThatHasThisFormIsTheInverseWhenRaisedToThePower) {
  for (const std::int64_t n : {1, 2, 31, 65, 129, 200, 257, 330}) {
    const std::vector<TypeParam> a = gram<TypeParam>(n, 2 * n);
    for (const InverseOf root : {InverseOf{4, 1e-2}, InverseOf{1, 0.1}}) {
      SCOPED_TRACE(testing::Message() << n << ' ' << root.exponent);
      expect_root(root_by_form(*tables().back().dense, a, n, root, 0.5), a, n, root, 2);
    }
  }
}

TYPED_TEST(TridiagonalRootOf, TheLargestEigenvalueIsThatOfTheMatrix) {
  for (const std::int64_t n : {1, 2, 33, 200}) {
    for (const double b : {-1.0, 0.25, 0.0}) {
      const Matrix<TypeParam> matrix = matrix_of_constants<TypeParam>(n, -0.5, b);
      AlignedVector<TypeParam> packed;
      TridiagonalRoot<TypeParam> solver;
      solver.begin(Products<TypeParam>(kDenseBaseline.in<TypeParam>(), packed), matrix.diagonal.data(),
                   matrix.off_diagonal.data(), n);
      const double expected = -0.5 + 2 * std::abs(b) * std::cos(std::numbers::pi / static_cast<double>(n + 1));
      EXPECT_NEAR(solver.largest_eigenvalue(), expected, 10 * std::numeric_limits<TypeParam>::epsilon())
          << n << ' ' << b;
    }
  }
}

TYPED_TEST(TridiagonalRootOf, EigenvaluesBelowHalfTheRidgeAreRefused) {
  Matrix<TypeParam> matrix = matrix_of_constants<TypeParam>(40, 1, 0.1);
  matrix.off_diagonal[38] = 0;
  for (const auto& [last, is_accepted] : {std::pair{-0.0049, true}, {-0.0051, false}, {-2.0, false}}) {
    matrix.diagonal[39] = static_cast<TypeParam>(last);
    EXPECT_EQ(!root_of(*tables().back().dense, matrix, {4, 0.01}).empty(), is_accepted) << last;
  }
  EXPECT_TRUE(root_of(kDenseBaseline, matrix, {65, 100}).empty());
}

}  // namespace
}  // namespace gradstep::cpu
