// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/parts.h"

#include "unit/optim/parts_model.h"
#include "unit/ranks.h"

namespace gradstep::test {
namespace {

std::vector<std::size_t> places_by_runs(const Shape& whole, const PartOf& part) {
  std::int64_t size = 1;
  for (const std::int64_t length : part.shape) size *= length;
  std::vector<std::size_t> places;
  for_each_run(whole, {part.shape, part.offset, size}, [&](std::int64_t begin, std::int64_t count) {
    for (std::int64_t k = 0; k < count; ++k) places.push_back(static_cast<std::size_t>(begin + k));
  });
  return places;
}

TEST(Parts, RunsOfABoxGoThroughItsElementsInTheirOrder) {
  const Shape whole = {5, 4, 3};
  for (const PartOf& part : {PartOf{{5, 4, 3}, {0, 0, 0}}, PartOf{{2, 4, 3}, {3, 0, 0}}, PartOf{{2, 2, 3}, {1, 2, 0}},
                             PartOf{{2, 3, 1}, {3, 1, 2}}, PartOf{{1, 1, 1}, {4, 3, 2}}, PartOf{{5, 0, 3}, {0, 4, 0}},
                             PartOf{{1, 4, 1}, {2, 0, 1}}}) {
    EXPECT_EQ(places_by_runs(whole, part), places_of(whole, part));
  }
  EXPECT_EQ(places_by_runs({}, {{}, {}}), std::vector<std::size_t>{0});
}

TEST(Parts, ABoxHasAsFewRunsAsItsElementsLieApart) {
  const auto runs = [](const Shape& whole, const PartOf& part, std::int64_t size) {
    int count = 0;
    for_each_run(whole, {part.shape, part.offset, size}, [&](std::int64_t, std::int64_t) { ++count; });
    return count;
  };
  EXPECT_EQ(runs({5, 4, 3}, {{2, 4, 3}, {3, 0, 0}}, 24), 1);
  EXPECT_EQ(runs({5, 4, 3}, {{2, 2, 3}, {3, 0, 0}}, 12), 2);
  EXPECT_EQ(runs({5, 4, 3}, {{2, 2, 2}, {3, 0, 0}}, 8), 4);
}

/// Every rank calls check.
void exchange(const Layout& layout, const std::vector<Shape>& wholes, const std::function<void(const Parts&)>& check) {
  run_ranks(static_cast<std::int32_t>(layout.size()), [&](Communicator& comm) {
    const Schema schema = schema_of(wholes, layout[static_cast<std::size_t>(comm.rank())]);
    Parts parts(schema, comm.world_size());
    parts.exchange(comm, schema, comm.deadline());
    check(parts);
  });
}

TEST(Parts, EveryRankKnowsThePartsOfAll) {
  const std::vector<Shape> wholes = {{4, 6}, {3}, {2, 2}};
  const Layout layout = in_replicas(wholes);
  exchange(layout, wholes, [&](const Parts& parts) {
    ASSERT_EQ(parts.ranks(), 4);
    for (std::int32_t rank = 0; rank < 4; ++rank) {
      for (std::size_t i = 0; i < wholes.size(); ++i) {
        const PartOf& expected = layout[static_cast<std::size_t>(rank)][i];
        const Box box = parts.box(rank, i);
        EXPECT_TRUE(std::ranges::equal(box.shape, expected.shape));
        EXPECT_TRUE(std::ranges::equal(box.offset, expected.offset));
        EXPECT_EQ(static_cast<std::size_t>(box.size), places_of(wholes[i], expected).size());
        EXPECT_EQ(parts.stands(rank, i), rank < (i == 2 ? 1 : 2)) << rank << " " << i;
      }
    }
    EXPECT_TRUE(parts.is_divided(0));
    EXPECT_TRUE(parts.is_divided(1));
    EXPECT_FALSE(parts.is_divided(2));
  });
}

TEST(Parts, WholesMayBeSpreadInAnyWayThatCoversThemOnce) {
  const auto is_divided = [](const Parts& parts) { EXPECT_TRUE(parts.is_divided(0)); };
  for (const Layout& layout : {by_rows(2), by_rows(4), by_columns(3), in_a_grid(), on_the_last(3)}) {
    exchange(layout, kWholes, is_divided);
  }
  // No cut goes through the whole.
  const Layout pinwheel = {{PartOf{{1, 2}, {0, 0}}},
                           {PartOf{{2, 1}, {0, 2}}},
                           {PartOf{{1, 2}, {2, 1}}},
                           {PartOf{{2, 1}, {1, 0}}},
                           {PartOf{{1, 1}, {1, 1}}}};
  exchange(pinwheel, {{3, 3}}, is_divided);
  const std::vector<PartOf> nothing = {all_of({0, 3})};
  exchange({nothing, nothing}, {{0, 3}},
           [](const Parts& parts) { EXPECT_FALSE(parts.is_divided(0)) << "it has no elements"; });
}

void expect_mismatch(const Layout& layout, const std::vector<Shape>& wholes, const std::string& text) {
  run_ranks(static_cast<std::int32_t>(layout.size()), [&](Communicator& comm) {
    const Schema schema = schema_of(wholes, layout[static_cast<std::size_t>(comm.rank())]);
    Parts parts(schema, comm.world_size());
    expect_error(GRADSTEP_ERR_MISMATCH, text, [&] { parts.exchange(comm, schema, comm.deadline()); });
  });
}

TEST(Parts, TensorsThatAreSteppedAsWholesHaveOwners) {
  const std::vector<Shape> wholes = {{4, 6}, {3}, {2, 2}, {8, 4}};
  const std::vector<double> costs = {5, 0, 4, 6};
  run_ranks(2, [&](Communicator& comm) {
    const auto owners = [&](const Layout& layout, const std::vector<bool>& has_state) {
      const Schema schema = schema_of(wholes, layout[static_cast<std::size_t>(comm.rank())]);
      Parts parts(schema, comm.world_size(), has_state);
      parts.exchange(comm, schema, comm.deadline());
      parts.name_owners(schema, costs);
      std::vector<std::int32_t> found;
      for (std::size_t i = 0; i < wholes.size(); ++i) {
        found.push_back(parts.owner(i));
        const std::int64_t size = parts.slices()[static_cast<std::size_t>(comm.rank())][i].size;
        const std::int64_t owned = parts.owner(i) == comm.rank() ? schema[i].whole_size() : 0;
        EXPECT_EQ(size, parts.travels(i) ? owned : schema[i].size);
      }
      return found;
    };
    using Owners = std::vector<std::int32_t>;
    EXPECT_EQ(owners(by_rows(2, wholes), {}), (Owners{1, -1, 1, 0})) << "the costliest first";
    EXPECT_EQ(owners(by_rows(2, wholes), {false, false, comm.rank() == 0, comm.rank() == 1}), (Owners{0, -1, 0, 1}))
        << "who has the state keeps it";
    EXPECT_EQ(owners(on_the_last(2, wholes), {}), (Owners{1, -1, 1, 1})) << "who has all of a tensor";
    const Layout whole(2, {all_of(wholes[0]), all_of(wholes[1]), all_of(wholes[2]), all_of(wholes[3])});
    EXPECT_EQ(owners(whole, {}), (Owners{-1, -1, -1, -1})) << "what every rank has needs none";
  });
}

TEST(Parts, WhatIsMissingOrThereTwiceIsToldToAllRanks) {
  const PartOf two_rows = {{2, 3}, {0, 0}};
  expect_mismatch({{two_rows}, {PartOf{{1, 3}, {2, 0}}}}, {{4, 3}},
                  "parameter 'p0': the parts of all ranks have 9 elements, expected the 12 of a whole of (4,3): rank 0 "
                  "has (2,3) at (0,0), rank 1 has (1,3) at (2,0)");
  expect_mismatch({{two_rows}, {two_rows}}, {{4, 3}}, "have 6 elements, expected the 12");
  expect_mismatch({{two_rows}, {PartOf{{3, 3}, {1, 0}}}}, {{4, 3}},
                  "parameter 'p0': rank 0 has (2,3) at (0,0) and rank 1 has (3,3) at (1,0), expected equal parts or no "
                  "element in common");
  // As many elements as there are, and yet one row twice.
  expect_mismatch({{two_rows}, {PartOf{{2, 3}, {1, 0}}}}, {{4, 3}}, "rank 1 has (2,3) at (1,0)");
  expect_mismatch({{all_of({4, 3})}, {PartOf{{4, 1}, {0, 1}}}}, {{4, 3}}, "rank 0 has (4,3) at (0,0)");
}

TEST(Parts, RanksWithOtherWholesAreRefusedByName) {
  run_ranks(3, [](Communicator& comm) {
    const std::vector<Shape> wholes = {{4}, {comm.rank() == 2 ? 7 : 6}};
    const Schema schema = schema_of(wholes, by_rows(3, wholes)[static_cast<std::size_t>(comm.rank())]);
    Parts parts(schema, comm.world_size());
    expect_error(GRADSTEP_ERR_MISMATCH, "rank 2 and rank 0 disagree on the shape of the whole of parameter 'p1'",
                 [&] { parts.exchange(comm, schema, comm.deadline()); });
  });
}

}  // namespace
}  // namespace gradstep::test
