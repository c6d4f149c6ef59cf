// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/selection_counts.h"

#include "unit/reduce/exchange_fixture.h"

namespace gradstep::test {
namespace {

/// Collective: `counts` knows what all ranks have selected; this one `own`.
void gather(ExchangeResources& resources, SelectionCounts& counts, const std::int64_t* own, std::size_t pieces) {
  RoundMaker maker(resources);
  counts.read(maker.make(SelectionCounts::round(own, pieces), resources.comm->deadline()).seen, pieces);
}

TEST(SelectionCounts, EveryRankKnowsWhatAllHaveSelected) {
  run_ranks(3, [](Communicator& comm) {
    ExchangeResources resources =
        make_exchange(comm, exchange_options(GRADSTEP_REDUCER_SPARSE_TOPK), make_schema({{4}}));
    SelectionCounts counts(resources, /*refuses_nans=*/true);
    EXPECT_EQ(counts.total(), 0) << "before the first window";
    for (const std::size_t pieces : {std::size_t{3}, std::size_t{1}}) {
      std::vector<std::int64_t> own = {0};
      for (std::size_t q = 0; q < pieces; ++q) own.push_back(10 * comm.rank() + static_cast<std::int64_t>(q));
      gather(resources, counts, own.data(), pieces);
      ASSERT_EQ(counts.pieces(), pieces);
      std::int64_t total = 0;
      for (std::size_t r = 0; r < 3; ++r) {
        std::int64_t of_rank = 0;
        for (std::size_t q = 0; q < pieces; ++q) {
          EXPECT_EQ(counts.of(r, q), static_cast<std::int64_t>(10 * r + q));
          of_rank += counts.of(r, q);
        }
        EXPECT_EQ(counts.of_rank(r), of_rank);
        total += of_rank;
      }
      EXPECT_EQ(counts.total(), total);
    }
  });
}

TEST(SelectionCounts, NumbersMayLieApart) {
  run_ranks(2, [](Communicator& comm) {
    const ExchangeResources resources =
        make_exchange(comm, exchange_options(GRADSTEP_REDUCER_SPARSE_TOPK), make_schema({{4}}));
    SelectionCounts counts(resources, /*refuses_nans=*/false);
    const std::int64_t messages[] = {1, 5, -1, 0, 7, -1};
    counts.read({reinterpret_cast<const std::byte*>(messages), 3 * sizeof(std::int64_t)}, 1);
    EXPECT_EQ(counts.of(0, 0), 5);
    EXPECT_EQ(counts.of(1, 0), 7);
  });
}

TEST(SelectionCounts, ANaNOfOneRankIsAnErrorOnAll) {
  run_ranks(2, [](Communicator& comm) {
    ExchangeResources resources =
        make_exchange(comm, exchange_options(GRADSTEP_REDUCER_SPARSE_TOPK), make_schema({{4}}));
    const std::int64_t own[] = {comm.rank() == 1 ? 4 : 0, 5};
    SelectionCounts refusing(resources, /*refuses_nans=*/true);
    expect_error(GRADSTEP_ERR_NUMERIC, "rank 1 has NaN: 4 of the elements",
                 [&] { gather(resources, refusing, own, 1); });
    SelectionCounts taking(resources, /*refuses_nans=*/false);
    gather(resources, taking, own, 1);
    EXPECT_EQ(taking.total(), 10);
  });
}

}  // namespace
}  // namespace gradstep::test
