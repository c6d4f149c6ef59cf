// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <numeric>

#include "backend/backend.h"
#include "unit/support.h"

namespace gradstep::test {
namespace {

TEST(Fold, SumsExactNumbersExactly) {
  for (const std::size_t n : {0UL, 1UL, 2UL, 3UL, 7UL, 64UL, 1000UL}) {
    std::vector<double> partials(n);
    std::iota(partials.begin(), partials.end(), 1.0);
    EXPECT_EQ(fold_partials(partials), static_cast<double>(n * (n + 1)) / 2);
  }
}

double folded(std::span<const double> partials) {
  if (partials.size() == 1) return partials[0];
  const std::size_t half = std::bit_floor(partials.size() - 1);
  return folded(partials.first(half)) + folded(partials.subspan(half));
}

TEST(Fold, TheLeftHalfOfItsTreeIsTheLargestPowerOfTwoBelowTheSize) {
  const std::vector<double> partials = random_values<double>(300, 2);
  for (std::size_t n = 1; n <= partials.size(); ++n) {
    const std::span first(partials.data(), n);
    EXPECT_EQ(fold_partials(first), folded(first)) << n;
  }
}

TEST(Fold, AbsentChunksCountAsZerosWhereverTheyAre) {
  // The tree's shape follows the number of chunks, so zeros keep the bits of the other partials' sum.
  std::vector<double> partials = random_values<double>(37, 1);
  partials[5] = partials[20] = 0;
  const double once = fold_partials(partials);
  EXPECT_EQ(once, fold_partials(partials));
  double plain = 0;
  for (const double p : partials) plain += p;
  EXPECT_NEAR(once, plain, 1e-12);  // two orders of 37 additions of numbers near 1
}

TEST(WorkList, CutsEveryElementIntoOneChunk) {
  const std::int64_t sizes[] = {0, 1, kChunk, kChunk + 1, 5 * kChunk - 3};
  const WorkList work(sizes);
  std::vector<std::int64_t> covered(5, 0);
  for (const Chunk& chunk : work.chunks()) {
    EXPECT_EQ(chunk.offset, covered[static_cast<std::size_t>(chunk.item)]);
    EXPECT_GT(chunk.length, 0);
    EXPECT_LE(chunk.length, kChunk);
    covered[static_cast<std::size_t>(chunk.item)] += chunk.length;
  }
  for (std::size_t i = 0; i < covered.size(); ++i) EXPECT_EQ(covered[i], sizes[i]);
}

TEST(WorkList, ItemsTakeTurnsChunkByChunk) {
  WorkList work;
  work.append(3);
  work.append_in_turns(kChunk + 5, 2);
  work.append(1);
  const Chunk expected[] = {{0, 3, 0}, {1, kChunk, 0}, {2, kChunk, 0}, {1, 5, kChunk}, {2, 5, kChunk}, {3, 1, 0}};
  ASSERT_EQ(work.chunks().size(), std::size(expected));
  for (std::size_t c = 0; c < std::size(expected); ++c) {
    EXPECT_EQ(work.chunks()[c].item, expected[c].item) << c;
    EXPECT_EQ(work.chunks()[c].length, expected[c].length) << c;
    EXPECT_EQ(work.chunks()[c].offset, expected[c].offset) << c;
  }
}

}  // namespace
}  // namespace gradstep::test
