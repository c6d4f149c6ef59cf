// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/dealing.h"

#include "backend/chunk.h"
#include "unit/support.h"

namespace gradstep::test {
namespace {

TEST(Dealing, GivesEachRankItsShareOfEveryGroup) {
  const Schema schema = make_schema({{4 * kChunk}, {2 * kChunk}, {2 * kChunk}, {10}});
  Dealing dealing;
  EXPECT_EQ(deal_out(schema, dealing, 2)[0], (std::vector<Slice>{{0, 4 * kChunk}, {}, {}, {}}));
  dealing.groups = {{3, 0}, {2, 1}};
  const RankSlices slices = deal_out(schema, dealing, 2);
  EXPECT_EQ(slices[0], (std::vector<Slice>{{0, 2 * kChunk}, {}, {0, 2 * kChunk}, {0, 10}}));
  EXPECT_EQ(slices[1], (std::vector<Slice>{{2 * kChunk, 2 * kChunk}, {0, 2 * kChunk}, {}, {}}));
}

TEST(Dealing, GivesAnUndividedParameterToOneRank) {
  const Schema schema = make_schema({{2 * kChunk}, {2 * kChunk}, {kChunk}});
  Dealing dealing;
  dealing.costs = {1, 0, 3};
  const RankSlices slices = deal_out(schema, dealing, 2);
  EXPECT_EQ(slices[0], (std::vector<Slice>{{}, {0, kChunk}, {0, kChunk}})) << "the costliest first";
  EXPECT_EQ(slices[1], (std::vector<Slice>{{0, 2 * kChunk}, {kChunk, kChunk}, {}}));
}

TEST(Dealing, MayGiveEverythingToEveryRank) {
  const Schema schema = make_schema({{2 * kChunk}, {3}});
  Dealing dealing;
  dealing.is_whole = true;
  for (const auto& own : deal_out(schema, dealing, 3)) EXPECT_EQ(own, (std::vector<Slice>{{0, 2 * kChunk}, {0, 3}}));
}

}  // namespace
}  // namespace gradstep::test
