// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/reflection.h"

#include <cmath>
#include <vector>

#include "unit/support.h"

namespace gradstep::test {
namespace {

using kernels::Reflection;

/// H x by the definition of H.
std::vector<double> reflected(const Reflection<double>& reflection, const std::vector<double>& x) {
  std::vector<double> v = {1};
  for (std::size_t i = 1; i < x.size(); ++i) v.push_back(x[i] / reflection.pivot);
  double product = 0;
  for (std::size_t i = 0; i < x.size(); ++i) product += v[i] * x[i];
  std::vector<double> result = x;
  for (std::size_t i = 0; i < x.size(); ++i) result[i] -= reflection.scale * product * v[i];
  return result;
}

TEST(Reflection, TakesAVectorToItsLengthOnTheFirstAxis) {
  for (const auto& x : std::vector<std::vector<double>>{
           {3, 4}, {-3, 4, 12}, {0, 2, -1}, {1e-9, 1, 1}, {1, 1e-9, 0}, {1e120, -1e119, 2e120}, {2e-120, 1e-121}}) {
    double squares = 0;
    for (std::size_t i = 1; i < x.size(); ++i) squares += x[i] * x[i];
    const double length = std::sqrt(x[0] * x[0] + squares);
    const auto reflection = kernels::reflection(x[0], squares);
    EXPECT_NEAR(std::abs(reflection.beta) / length, 1, 1e-15);
    const std::vector<double> found = reflected(reflection, x);
    EXPECT_NEAR(found[0] / reflection.beta, 1, 1e-14);
    for (std::size_t i = 1; i < x.size(); ++i) EXPECT_NEAR(found[i] / length, 0, 1e-15) << "number " << i;
  }
}

// Numbers of one sign would cancel.
TEST(Reflection, GoesToTheOtherSideOfTheFirstNumber) {
  EXPECT_LT(kernels::reflection(1.0, 1e-20).beta, 0);
  EXPECT_GT(kernels::reflection(-1.0, 1e-20).beta, 0);
}

TEST(Reflection, OfARestWithoutLengthIsTheIdentity) {
  for (const double squares : {0.0, 1e-300}) {
    const auto reflection = kernels::reflection(-2.0, squares);
    EXPECT_EQ(reflection.beta, -2);
    EXPECT_EQ(reflection.scale, 0);
    EXPECT_EQ(1 / reflection.pivot, 0);
  }
}

}  // namespace
}  // namespace gradstep::test
