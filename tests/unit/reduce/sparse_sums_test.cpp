// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/sparse_sums.h"

#include <algorithm>
#include <cmath>

#include "unit/reduce/exchange_fixture.h"

namespace gradstep::test {
namespace {

/// A selection, with its memory.
struct Selected {
  std::vector<std::int32_t> indices;
  Floats values;

  SparseList list() const {
    return {indices.data(), values.data(), static_cast<std::int64_t>(indices.size()), nullptr};
  }
};

std::vector<std::int32_t> touched_of(const SparseSums& sums) {
  std::vector<std::int32_t> indices(sums.touched().indices, sums.touched().indices + sums.touched_count());
  std::ranges::sort(indices);
  return indices;
}

void with_sums(Floats& sum, const std::function<void(SparseSums&)>& body) {
  run_ranks(1, [&](Communicator& comm) {
    const ExchangeResources resources =
        make_exchange(comm, exchange_options(GRADSTEP_REDUCER_SPARSE_TOPK), make_schema({{6}}));
    SparseSums sums(resources, array_of(sum));
    body(sums);
  });
}

TEST(SparseSums, ASumIsThatOfItsOwnListsAndZeroElsewhere) {
  Floats sum(6, 0);
  with_sums(sum, [&](SparseSums& sums) {
    EXPECT_EQ(sums.touched_count(), 0);
    const Selected a{{0, 2, 5}, {1, 2, 3}};
    const Selected b{{2, 3}, {10, 20}};
    std::vector<SparseList> lists = {a.list(), b.list()};
    sums.add_up(lists, 0, 6, 2);
    EXPECT_EQ(sum, (Floats{0.5F, 0, 6, 10, 0, 1.5F}));
    EXPECT_EQ(touched_of(sums), (std::vector<std::int32_t>{0, 2, 3, 5})) << "each once";
    sum[1] = 77;  // which is not looked at
    lists = {b.list()};
    sums.add_up(lists, 0, 6, 1);
    EXPECT_EQ(sum, (Floats{0, 77, 10, 20, 0, 0})) << "only what was touched is cleared";
    EXPECT_EQ(touched_of(sums), (std::vector<std::int32_t>{2, 3}));
    lists.clear();
    sums.add_up(lists, 0, 6, 1);
    EXPECT_EQ(sum, (Floats{0, 77, 0, 0, 0, 0}));
    EXPECT_EQ(sums.touched_count(), 0);
  });
}

TEST(SparseSums, SumsOfPiecesArePutTogether) {
  Floats sum(6, 0);
  with_sums(sum, [&](SparseSums& sums) {
    const Selected own{{1, 2}, {1, 2}};
    sums.add_up(std::vector{own.list()}, 0, 3, 1);
    const Selected others{{3, 5}, {3, 5}};
    sums.put(std::vector{own.list(), others.list()});
    EXPECT_EQ(sum, (Floats{0, 1, 2, 3, 0, 5}));
    EXPECT_EQ(touched_of(sums), (std::vector<std::int32_t>{1, 2, 3, 5}));
    sums.add_up(std::vector<SparseList>(), 0, 6, 1);
    EXPECT_EQ(sum, Floats(6, 0));
  });
}

TEST(SparseSums, WhatAFailedRoundHasLeftAnywhereIsCleared) {
  Floats sum(6, 0);
  with_sums(sum, [&](SparseSums& sums) {
    const Selected own{{1, 2}, {1, 2}};
    sums.add_up(std::vector{own.list()}, 0, 3, 1);
    sum[4] = 9;  // some of the others' came
    sums.add_up(std::vector{own.list()}, 0, 6, 1);
    EXPECT_EQ(sum, (Floats{0, 1, 2, 0, 0, 0}));
  });
}

TEST(SparseSums, TheNormIsThatOfAllLists) {
  Floats sum(6, 0);
  with_sums(sum, [&](SparseSums& sums) {
    const Selected a{{0, 2}, {3, -4}};
    const Selected b{{2}, {12}};
    sums.measure(std::vector{a.list(), b.list()});
    EXPECT_EQ(sums.norm(), 13);
    const Selected infinite{{1}, {HUGE_VALF}};
    sums.measure(std::vector{a.list(), infinite.list()});
    EXPECT_FALSE(std::isfinite(sums.norm()));
  });
}

}  // namespace
}  // namespace gradstep::test
