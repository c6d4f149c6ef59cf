// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/shampoo/partition.h"

#include <gtest/gtest.h>

namespace gradstep::test {
namespace {

using Shape = std::vector<std::int64_t>;

Shape merged(const Shape& shape, std::int64_t limit) {
  Shape extents;
  for (const MergedAxis& axis : merge_small_dimensions(shape, limit)) extents.push_back(axis.extent);
  return extents;
}

TEST(MergeSmallDimensions, MergesLeftToRightUpToTheLimit) {
  EXPECT_EQ(merged(Shape{1, 2, 512, 1, 2048, 1, 3, 4}, 1024), (Shape{1024, 2048, 12}));
  EXPECT_EQ(merged(Shape{64, 3, 3}, 128), (Shape{64, 9}));
  EXPECT_EQ(merged(Shape{12, 20}, 8), (Shape{12, 20}));
  EXPECT_EQ(merged(Shape{1, 1, 9}, 8), (Shape{9}));
  EXPECT_EQ(merged(Shape{2, 2, 2}, 8), (Shape{8}));
  EXPECT_EQ(merged(Shape{5}, 8), (Shape{5}));
}

TEST(MergeSmallDimensions, KnowsTheLongestDimensionOfEachAxis) {
  const std::vector<MergedAxis> axes = merge_small_dimensions(Shape{2, 16, 3, 100, 5, 4}, 32);
  ASSERT_EQ(axes.size(), 4U);
  EXPECT_EQ(axes[0].longest, 16);
  EXPECT_EQ(axes[1].longest, 3);
  EXPECT_EQ(axes[2].longest, 100);
  EXPECT_EQ(axes[3].longest, 5);
}

TEST(MergeSmallDimensions, OnesAloneBecomeOneOne) {
  EXPECT_EQ(merged(Shape{1, 1, 1}, 8), (Shape{1}));
  EXPECT_EQ(merged(Shape{1}, 1), (Shape{1}));
  EXPECT_EQ(merged(Shape{}, 8), (Shape{}));
}

TEST(Partition, BlocksAreLexicographicAndCutAtMultiplesOfTheBlockSize) {
  const Partition partition(Shape{12, 20}, 8, /*merge=*/true);
  ASSERT_EQ(partition.blocks().size(), 6U);
  EXPECT_EQ(partition.blocks()[0].begin, (Shape{0, 0}));
  EXPECT_EQ(partition.blocks()[1].begin, (Shape{0, 8}));
  EXPECT_EQ(partition.blocks()[2].begin, (Shape{0, 16}));
  EXPECT_EQ(partition.blocks()[3].begin, (Shape{8, 0}));
  EXPECT_EQ(partition.blocks()[2].extents, (Shape{8, 4}));
  EXPECT_EQ(partition.blocks()[5].extents, (Shape{4, 4}));
}

TEST(Partition, AnAxisOfExactlyTheBlockSizeIsNotCut) {
  EXPECT_EQ(Partition(Shape{8, 16}, 8, false).blocks().size(), 2U);
  EXPECT_TRUE(Partition(Shape{8, 8}, 8, false).is_whole());
}

TEST(Partition, StridesAreThoseOfTheMergedTensor) {
  EXPECT_EQ(Partition(Shape{3, 4, 5}, 8, /*merge=*/false).strides(), (Shape{20, 5, 1}));
  EXPECT_EQ(Partition(Shape{2, 4, 5}, 8, /*merge=*/true).strides(), (Shape{5, 1}));
}

}  // namespace
}  // namespace gradstep::test
