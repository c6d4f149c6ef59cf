// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Roots are right without another implementation of them: F = (A + ridge I)^(-1/p) where F^p (A + ridge I) is the
// identity.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "dense_tables.h"

namespace gradstep::cpu {

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

/// Expects `factor` F to be the root of A, whose largest eigenvalue is about 1, and F to be symmetric to the bit.
template <class T>
void expect_root(const std::vector<T>& f, const std::vector<T>& a, std::int64_t n, const InverseOf& root,
                 double factor) {
  ASSERT_EQ(f.size(), a.size());
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < i; ++j) {
      ASSERT_EQ(f[static_cast<std::size_t>(i * n + j)], f[static_cast<std::size_t>(j * n + i)]);
    }
  }
  // The rule's error, and rounding times the condition number.
  const double rule = sizeof(T) == sizeof(double) ? 1e-10 : 1e-4;
  const double condition = 2 / root.ridge;
  EXPECT_LE(residual(f, a, n, root, factor), rule + 10 * std::numeric_limits<T>::epsilon() * condition);
}

}  // namespace gradstep::cpu
