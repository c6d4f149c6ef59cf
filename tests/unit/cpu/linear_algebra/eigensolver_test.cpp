// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A v = lambda v and orthogonality in f64, on every instruction set that this processor has.
#include "cpu/linear_algebra/eigensolver/eigensolver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "cpu/linear_algebra/eigensolver/orthonormal_basis.h"
#include "dense_tables.h"
#include "unit/support.h"

namespace gradstep::cpu {
namespace {

/// Values, then vectors.
template <class T>
std::vector<T> decomposed(const Dense& dense, const std::vector<T>& a, std::int64_t n, Context* threads = nullptr) {
  const auto count = static_cast<std::size_t>(n);
  std::vector<T> result(count + count * count);
  std::vector<T> overwritten = a;
  std::vector<T> scratch(static_cast<std::size_t>(Eigensolver<T>::scratch_size(n)));
  AlignedVector<T> packed;
  Eigensolver<T> solver;
  const Products<T> products(dense.in<T>(), packed, threads);
  const bool converged =
      solver.decompose(products, overwritten.data(), n, result.data(), result.data() + n, scratch.data());
  return converged ? result : std::vector<T>{};
}

template <class T>
void expect_orthonormal_rows(const T* rows, std::int64_t n, const std::string& name) {
  double worst = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      double sum = i == j ? -1 : 0;
      for (std::int64_t k = 0; k < n; ++k) sum += static_cast<double>(rows[i * n + k]) * rows[j * n + k];
      worst = std::max(worst, std::abs(sum));
    }
  }
  // A few roundings for each number of a row; 10 to 30 of them were seen.
  EXPECT_LE(worst, std::numeric_limits<T>::epsilon() * (20 + static_cast<double>(n))) << name;
}

template <class T>
void expect_decomposition(const std::vector<T>& a, std::int64_t n, const std::vector<T>& result,
                          const std::string& name) {
  ASSERT_FALSE(result.empty()) << name;
  double squares = 0;
  for (const T x : a) squares += static_cast<double>(x) * x;
  const T* values = result.data();
  const T* vectors = values + n;
  EXPECT_TRUE(std::is_sorted(values, values + n)) << name;
  double worst = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = -static_cast<double>(values[i]) * vectors[i * n + j];
      for (std::int64_t k = 0; k < n; ++k)
        sum += static_cast<double>(a[static_cast<std::size_t>(j * n + k)]) * vectors[i * n + k];
      worst = std::max(worst, std::abs(sum));
    }
  }
  // Backward stable: the precision times the norm, times a few.
  const double tolerance = 20 * std::numeric_limits<T>::epsilon() * std::sqrt(squares);
  EXPECT_LE(worst, tolerance + static_cast<double>(std::numeric_limits<T>::min())) << name;
  expect_orthonormal_rows(vectors, n, name);
}

/// Element (i, j), j <= i, of a matrix of size n.
struct Kind {
  const char* name;
  std::function<double(std::int64_t i, std::int64_t j, std::int64_t n)> element;
};

std::vector<Kind> kinds() {
  const auto noise = [](std::int64_t i, std::int64_t j) {
    return static_cast<double>(random_numbers<float>(1, static_cast<unsigned>(i * 1000 + j))[0]);
  };
  return {
      {"random", [noise](auto i, auto j, auto) { return noise(i, j); }},
      {"zero", [](auto, auto, auto) { return 0.0; }},
      {"identity", [](auto i, auto j, auto) { return i == j ? 1.0 : 0.0; }},
      {"ones", [](auto, auto, auto) { return 1.0; }},  // rank one
      {"two values", [](auto i, auto j, auto) { return (i == j ? 3.0 : 0.0) + (i % 2 == j % 2 ? 1.0 : 0.0); }},
      {"clustered", [noise](auto i, auto j, auto) { return (i == j ? 1.0 : 0.0) + 1e-5 * noise(i, j); }},
      {"graded",
       [noise](auto i, auto j, auto n) {
         return noise(i, j) * std::pow(10.0, -20.0 * static_cast<double>(i + j) / static_cast<double>(n));
       }},
      {"graded upwards",
       [noise](auto i, auto j, auto n) {
         return noise(i, j) * std::pow(10.0, 15.0 * static_cast<double>(i + j) / static_cast<double>(n) - 15);
       }},
      {"tridiagonal", [](auto i, auto j, auto) { return i == j       ? 2.0
                                                        : i - j == 1 ? -1.0
                                                                     : 0.0; }},
      {"two blocks", [noise](auto i, auto j, auto n) { return (i < n / 2) == (j < n / 2) ? noise(i, j) : 0.0; }},
      {"huge", [noise](auto i, auto j, auto) { return 1e37 * noise(i, j); }},
      {"tiny", [noise](auto i, auto j, auto) { return 1e-35 * noise(i, j); }},
      {"Wilkinson's",
       [](auto i, auto j, auto n) {
         return i == j ? std::abs(static_cast<double>(i) - static_cast<double>(n - 1) / 2) : i - j == 1 ? 1.0 : 0.0;
       }},
  };
}

template <class T>
std::vector<T> matrix_of_kind(const Kind& kind, std::int64_t n) {
  std::vector<T> a(static_cast<std::size_t>(n * n));
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      a[static_cast<std::size_t>(i * n + j)] = a[static_cast<std::size_t>(j * n + i)] =
          static_cast<T>(kind.element(i, j, n));
    }
  }
  return a;
}

template <class T>
class EigensolverOf : public testing::Test {};
using EigenPrecisions = testing::Types<float, double>;
TYPED_TEST_SUITE(EigensolverOf, EigenPrecisions);

// Sizes around those of panels and undivided parts (32), and with two and three divisions.
TYPED_TEST(EigensolverOf, EverySpectrumIsDecomposedToThePrecision) {
  for (const Kind& kind : kinds()) {
    for (const std::int64_t n : {1, 2, 3, 7, 31, 32, 33, 34, 65, 66, 97, 150}) {
      const std::vector<TypeParam> a = matrix_of_kind<TypeParam>(kind, n);
      for (const Table& table : tables()) {
        expect_decomposition(a, n, decomposed(*table.dense, a, n),
                             std::string(kind.name) + ' ' + std::to_string(n) + ' ' + table.name);
      }
    }
  }
}

TYPED_TEST(EigensolverOf, HasTheSameBitsWhereverThereAreFusedOperations) {
  const std::vector<Table> all = tables();
  for (std::size_t i = 2; i < all.size(); ++i) {
    for (const Kind& kind : kinds()) {
      const std::vector<TypeParam> a = matrix_of_kind<TypeParam>(kind, 100);
      EXPECT_EQ(decomposed(*all[1].dense, a, 100), decomposed(*all[i].dense, a, 100)) << kind.name;
    }
  }
}

TYPED_TEST(EigensolverOf, IsTheSameWhenThreadsShareAMatrix) {
  constexpr std::int64_t kSize = 530;  // of which products with vectors are cut in strips
  const Table table = tables().back();
  const std::vector<TypeParam> a = matrix_of_kind<TypeParam>(kinds().front(), kSize);
  const std::vector<TypeParam> alone = decomposed(*table.dense, a, kSize);
  expect_decomposition(a, kSize, alone, table.name);
  for (const int threads : {2, 5}) {
    const auto context = test::make_context(threads);
    EXPECT_TRUE(alone == decomposed(*table.dense, a, kSize, context.get())) << threads;
  }
}

TYPED_TEST(EigensolverOf, RefusesWhatIsNotFinite) {
  for (const TypeParam bad :
       {std::numeric_limits<TypeParam>::quiet_NaN(), std::numeric_limits<TypeParam>::infinity()}) {
    for (const std::int64_t n : {1, 40}) {
      std::vector<TypeParam> a(static_cast<std::size_t>(n * n), TypeParam{1});
      a[static_cast<std::size_t>((n - 1) * n)] = bad;
      EXPECT_TRUE(decomposed(kDenseBaseline, a, n).empty());
    }
  }
}

TYPED_TEST(EigensolverOf, OrthonormalBasesSpanWhatTheVectorsBeforeThemSpan) {
  for (const std::int64_t n : {1, 2, 31, 33, 70, 100}) {
    const std::vector<TypeParam> a = random_numbers<TypeParam>(n * n, 8);
    for (const Table& table : tables()) {
      std::vector<TypeParam> copy = a;
      std::vector<TypeParam> q(a.size());
      AlignedVector<TypeParam> packed;
      OrthonormalBasis<TypeParam> basis;
      basis.make(Products<TypeParam>(table.dense->in<TypeParam>(), packed), copy.data(), n, q.data());
      expect_orthonormal_rows(q.data(), n, table.name);
      double worst = 0;  // below the diagonal of R
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < i; ++j) {
          double sum = 0;
          for (std::int64_t k = 0; k < n; ++k) {
            sum += static_cast<double>(q[static_cast<std::size_t>(i * n + k)]) * a[static_cast<std::size_t>(j * n + k)];
          }
          worst = std::max(worst, std::abs(sum));
        }
      }
      EXPECT_LE(worst, std::numeric_limits<TypeParam>::epsilon() * (20 + static_cast<double>(n))) << table.name << n;
    }
  }
}

}  // namespace
}  // namespace gradstep::cpu
