// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The factors of Adasum against its formulas, with dots over several chunks and vectors that are stored for a part of
// themselves.
#include "kernels/adasum.h"

#include <bit>
#include <cmath>
#include <limits>

#include "unit/support.h"

namespace gradstep::test {
namespace {

using kernels::AdasumFactors;
using kernels::AdasumRule;
using kernels::Dots;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct DotLists {
  const Dots* dots;
  std::int64_t chunks;
  std::int64_t stride;
};

bool write_factors(const AdasumFactors& rule, const DotLists& lists, std::int64_t count, double* factors) {
  const auto dots_of = [&](std::int64_t list) {
    return kernels::fold_dots(lists.dots + list, lists.chunks, lists.stride);
  };
  return rule.write(count, dots_of, factors);
}

TEST(AdasumFactors, OfTwoTakeAwayHalfOfWhatTheyHaveInCommon) {
  const Dots dots[] = {{1, 3, 2}, {2, 1, 5}, {3, 4, 1}};  // 6, 8, 8
  double factors[2];
  EXPECT_TRUE(write_factors({AdasumRule::pair, nullptr}, {dots, 3, 1}, 2, factors));
  EXPECT_EQ(factors[0], 1 - 6.0 / 16);
  EXPECT_EQ(factors[1], 1 - 6.0 / 16);
  EXPECT_TRUE(write_factors({AdasumRule::pair, nullptr}, {dots, 2, 2}, 2, factors)) << "the first and the third";
  EXPECT_EQ(factors[0], 1 - 4.0 / 14);
  EXPECT_EQ(factors[1], 1 - 4.0 / 6);
}

TEST(AdasumFactors, OfAllAreTheirsAmongTheSum) {
  // By chunk, then vector: three vectors, two chunks.
  const Dots dots[] = {{5, 2, 0}, {1, 4, 0}, {0, 0, 0}, {3, 2, 0}, {7, 4, 0}, {0, 0, 0}};
  double factors[3];
  EXPECT_TRUE(write_factors({AdasumRule::all, nullptr}, {dots, 2, 3}, 3, factors));
  EXPECT_EQ(factors[0], 1 - (8.0 - 4.0) / (3 * 4.0));
  EXPECT_EQ(factors[1], 1 - (8.0 - 8.0) / (3 * 8.0));
  EXPECT_EQ(factors[2], 1) << "zeros are added as they are";
}

// What is merged is stored for the smallest exponent of both: 2^k (fa a + fb b) = Fa 2^ea a + Fb 2^eb b.
TEST(AdasumFactors, OfVectorsStoredForAPartOfThemselvesMakeTheSameSum) {
  const double ab = 6;
  const double aa = 8;
  const double bb = 40;
  for (const auto& [ea, eb] : {std::pair{-3, 0}, std::pair{0, -3}, std::pair{2, -4}, std::pair{5, 5}}) {
    const int k = std::min(ea, eb);
    const Dots stored{std::ldexp(ab, ea + eb), std::ldexp(aa, 2 * ea), std::ldexp(bb, 2 * eb)};
    const int exponents[] = {ea, eb};
    double factors[2];
    EXPECT_TRUE(write_factors({AdasumRule::pair, exponents}, {&stored, 1, 1}, 2, factors));
    EXPECT_EQ(std::ldexp(factors[0], ea), std::ldexp(1 - ab / (2 * aa), k));
    EXPECT_EQ(std::ldexp(factors[1], eb), std::ldexp(1 - ab / (2 * bb), k));

    // With the sum s = a + b, which is stored for the smallest as well.
    const double as = aa + ab;
    const double bs = bb + ab;
    const Dots among[] = {{std::ldexp(as, ea + k), std::ldexp(aa, 2 * ea), 0},
                          {std::ldexp(bs, eb + k), std::ldexp(bb, 2 * eb), 0}};
    EXPECT_TRUE(write_factors({AdasumRule::all, exponents}, {among, 1, 2}, 2, factors));
    EXPECT_EQ(std::ldexp(factors[0], ea), std::ldexp(1 - (as - aa) / (2 * aa), k));
    EXPECT_EQ(std::ldexp(factors[1], eb), std::ldexp(1 - (bs - bb) / (2 * bb), k));
  }
}

TEST(AdasumFactors, AreOneQuietNaNAllWhereOneIsNotFinite) {
  const auto quiet = std::bit_cast<std::uint64_t>(kNaN);
  for (const Dots& bad : {Dots{-kNaN, 1, 1}, Dots{1, std::numeric_limits<double>::infinity(), -kNaN}}) {
    double factors[3];
    EXPECT_FALSE(write_factors({AdasumRule::pair, nullptr}, {&bad, 1, 1}, 2, factors));
    for (const int v : {0, 1}) EXPECT_EQ(std::bit_cast<std::uint64_t>(factors[v]), quiet);
  }
  const Dots dots[] = {{1, 1, 0}, {-kNaN, 1, 0}, {0, 0, 0}};
  double factors[3];
  EXPECT_FALSE(write_factors({AdasumRule::all, nullptr}, {dots, 1, 3}, 3, factors));
  for (const double factor : factors) EXPECT_EQ(std::bit_cast<std::uint64_t>(factor), quiet);
}

}  // namespace
}  // namespace gradstep::test
