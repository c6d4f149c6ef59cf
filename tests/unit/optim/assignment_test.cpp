// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/assignment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace gradstep::test {
namespace {

using Owners = std::vector<std::int32_t>;

TEST(AssignLongestFirst, GoesToTheLeastLoadedRank) {
  EXPECT_EQ(assign_longest_first(std::vector<double>{1, 8, 4, 4, 1}, 2), (Owners{0, 0, 1, 1, 1}));
  EXPECT_EQ(assign_longest_first(std::vector<double>{3, 3, 3}, 2), (Owners{0, 1, 0}));
  EXPECT_EQ(assign_longest_first(std::vector<double>{3, 3}, 5), (Owners{0, 1}));
  EXPECT_EQ(assign_longest_first({}, 3), Owners{});
}

TEST(AssignLongestFirst, CountsWhatRanksHaveToDoAlready) {
  EXPECT_EQ(assign_longest_first(std::vector<double>{3, 3, 1}, 2, {5, 0}), (Owners{1, 1, 0}));
}

TEST(AssignLongestFirst, NoRankHasMoreThanGrahamsBound) {
  std::mt19937 generator(5);
  std::uniform_real_distribution<double> uniform(0.1, 10);
  for (const std::int32_t ranks : {1, 2, 3, 7}) {
    for (const std::size_t n : {1U, 5U, 40U}) {
      std::vector<double> costs(n);
      for (double& cost : costs) cost = uniform(generator);
      const Owners owners = assign_longest_first(costs, ranks);
      std::vector<double> loads(static_cast<std::size_t>(ranks), 0);
      for (std::size_t i = 0; i < n; ++i) loads[static_cast<std::size_t>(owners[i])] += costs[i];
      const double sum = std::accumulate(costs.begin(), costs.end(), 0.0);
      // No schedule is shorter than the mean load or the longest task; a list schedule is within their sum.
      const double longest = *std::max_element(costs.begin(), costs.end());
      EXPECT_LE(*std::max_element(loads.begin(), loads.end()), sum / ranks + longest * (ranks - 1) / ranks + 1e-9);
    }
  }
}

}  // namespace
}  // namespace gradstep::test
