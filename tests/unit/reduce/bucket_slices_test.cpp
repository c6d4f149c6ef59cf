// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/bucket_slices.h"

#include "unit/support.h"

namespace gradstep::test {
namespace {

// Four parameters of 10, 6, 4 and 5 elements. Rank 0 has the first 7 of parameter 3's and 0's run, rank 1 the rest of
// it; rank 1 has parameter 2, rank 0 parameter 1.
const DealtSlices kDealt = {{{{0, 2}, {0, 6}, {}, {0, 5}}, {{2, 8}, {}, {0, 4}, {}}}, {false, true, true, false}};

TEST(BucketSlices, PackEachRanksShareInOnePiece) {
  const Schema schema = make_schema({{10}, {6}, {4}, {5}});
  const BucketPlan plan{DType::f32, 25, {3, 2, 1, 0}};
  const BucketSlices first = bucket_slices(plan, schema, kDealt, 0);
  const BucketSlices second = bucket_slices(plan, schema, kDealt, 1);
  for (const BucketSlices* slices : {&first, &second}) {
    EXPECT_EQ(slices->offsets, (std::vector<std::int64_t>{0, 21, 15, 5})) << "divided ones, then those by their ranks";
    ASSERT_EQ(slices->segments.size(), 2U);
    EXPECT_EQ(slices->segments[0].counts, (std::vector<std::int64_t>{7, 8}));
    EXPECT_EQ(slices->segments[1].counts, (std::vector<std::int64_t>{6, 4}));
    EXPECT_EQ(slices->segments[1].begin, 15);
  }
  EXPECT_EQ(first.piece, 13);
  EXPECT_EQ(first.places, (std::vector<std::int64_t>{0, 13, 7, 5}));
  EXPECT_EQ(first.segments[1].own_begin, 15);
  EXPECT_EQ(first.segments[1].place, 7);
  EXPECT_EQ(second.piece, 12);
  EXPECT_EQ(second.segments[0].own_begin, 7);
  EXPECT_EQ(second.segments[1].own_begin, 21);
  EXPECT_EQ(second.segments[1].place, 8);
  EXPECT_EQ(second.own[3], (Slice{2, 8}));
}

TEST(BucketSlices, HaveNoSegmentWithoutElements) {
  const Schema schema = make_schema({{0}});
  const BucketSlices slices = bucket_slices({DType::f32, 0, {0}}, schema, {{{{}}, {{}}}, {false}}, 1);
  EXPECT_TRUE(slices.segments.empty());
  EXPECT_EQ(slices.piece, 0);
}

}  // namespace
}  // namespace gradstep::test
