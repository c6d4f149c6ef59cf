// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/sparse_route.h"

#include <cmath>

#include "unit/reduce/exchange_fixture.h"

namespace gradstep::test {
namespace {

constexpr std::size_t kRouteSize = 101;

/// One rank's part in exchanges of a bucket.
struct RoutedRank {
  RoutedRank(Communicator& comm, const gradstep_reducer_options& own, std::size_t size)
      : options(own),
        sizes{static_cast<std::int64_t>(size)},
        resources(make_exchange(comm, options, make_schema({sizes}))),
        sum(size, 0),
        selection(resources, options, DType::f32, sizes),
        sums(resources, array_of(sum)),
        route(resources, options, sums) {}

  void exchange(Floats data, double divisor) {
    selection.select(array_of(data), {}, route.next_pieces());
    const Deadline deadline = resources.comm->deadline();
    if (const auto round = SparseRoute::ask_counts(selection)) {
      route.read_counts(selection, maker.make(*round, deadline));
      if (!selection.by_count()) selection.take(route.own_count());
    }
    auto round = route.start(selection, divisor);
    while (round) round = route.proceed(maker.make(*round, deadline));
  }

  gradstep_reducer_options options;
  std::vector<std::int64_t> sizes;
  ExchangeResources resources;
  Floats sum;
  SparseSelection selection;
  SparseSums sums;
  SparseRoute route;
  RoundMaker maker{resources};
};

Floats route_data(std::int32_t rank, std::uint32_t window, std::size_t size = kRouteSize) {
  return random_values<float>(size, 100 * window + static_cast<std::uint32_t>(rank));
}

/// ((v0 + v1) + ...) / divisor of the elements that reach `threshold`.
Floats sum_by_definition(std::int32_t ranks, std::uint32_t window, float threshold, float divisor) {
  Floats sum(kRouteSize, 0);
  for (std::int32_t r = 0; r < ranks; ++r) {
    const Floats data = route_data(r, window);
    for (std::size_t i = 0; i < kRouteSize; ++i) {
      if (std::abs(data[i]) >= threshold) sum[i] += data[i];
    }
  }
  for (float& x : sum) x /= divisor;
  return sum;
}

TEST(SparseRoute, BothWaysLeadToTheSumOfWhatWasSelected) {
  for (const std::int32_t ranks : {1, 2, 3, 5}) {
    for (const std::int32_t way : {GRADSTEP_SPARSE_EXCHANGE_GATHER, GRADSTEP_SPARSE_EXCHANGE_SPLIT}) {
      run_ranks(ranks, [&](Communicator& comm) {
        constexpr float kReached = 0.5F;
        auto options = exchange_options(GRADSTEP_REDUCER_SPARSE_THRESHOLD, kReached);
        options.sparse_exchange = way;
        RoutedRank rank(comm, options, kRouteSize);
        const bool splits = way == GRADSTEP_SPARSE_EXCHANGE_SPLIT && ranks > 1;
        EXPECT_EQ(rank.route.next_pieces(), splits ? static_cast<std::size_t>(ranks) : 1U);
        for (std::uint32_t window = 0; window < 3; ++window) {
          rank.exchange(route_data(comm.rank(), window), 2);
          EXPECT_EQ(rank.sum, sum_by_definition(ranks, window, kReached, 2)) << "window " << window << " of " << ranks;
          EXPECT_EQ(rank.route.own_count(), rank.selection.list().count);
        }
      });
    }
  }
}

// Lists of a fixed length need no round before them.
TEST(SparseRoute, TopKHasTheBitsOfTheDefinitionAndOneRoundWhereItIsGathered) {
  for (const std::int32_t way : {GRADSTEP_SPARSE_EXCHANGE_GATHER, GRADSTEP_SPARSE_EXCHANGE_SPLIT}) {
    run_ranks(3, [&](Communicator& comm) {
      auto options = exchange_options(GRADSTEP_REDUCER_SPARSE_TOPK, 1);
      options.sparse_exchange = way;
      RoutedRank rank(comm, options, kRouteSize);
      const auto gathers = [&] { return rank.resources.comm->stats().all_gathers; };
      for (std::uint32_t window = 0; window < 2; ++window) {
        const std::int64_t before = gathers();
        rank.exchange(route_data(comm.rank(), window), 1);
        EXPECT_EQ(rank.sum, sum_by_definition(3, window, 0, 1));
        EXPECT_EQ(gathers() - before, way == GRADSTEP_SPARSE_EXCHANGE_GATHER ? 1 : 3);
      }
    });
  }
}

TEST(SparseRoute, RanksSplitWhereTheLastSelectionsWereManyAndTheSame) {
  constexpr std::size_t kLarge = 200000;
  run_ranks(4, [](Communicator& comm) {
    RoutedRank rank(comm, exchange_options(GRADSTEP_REDUCER_SPARSE_TOPK, 0.2), kLarge);
    EXPECT_EQ(rank.route.next_pieces(), 1U) << "nothing is known yet";
    rank.exchange(route_data(0, 1, kLarge), 1);
    EXPECT_EQ(rank.route.next_pieces(), 4U) << "all have selected the same elements";
    // Each in a quarter of its own.
    Floats apart(kLarge, 0);
    for (std::size_t i = 0; i < kLarge / 4; ++i) apart[static_cast<std::size_t>(comm.rank()) * (kLarge / 4) + i] = 1;
    rank.exchange(apart, 1);
    EXPECT_EQ(rank.route.next_pieces(), 1U) << "there is nothing to gain";
  });
}

TEST(SparseRoute, RanksThatAreNotInTheSameWindowFindOut) {
  run_ranks(2, [](Communicator& comm) {
    auto options = exchange_options(GRADSTEP_REDUCER_SPARSE_TOPK, 0.01);
    options.warmup_steps = 4;
    RoutedRank rank(comm, options, kRouteSize);
    // As many bytes are on their way: a word more or less would be another error.
    rank.resources.state->windows = 4;
    rank.exchange(route_data(comm.rank(), 0), 1);
    EXPECT_EQ(rank.route.own_count(), 2);
    rank.options.sparsity = comm.rank() == 0 ? 0.01 : 0.009;
    expect_error(GRADSTEP_ERR_MISMATCH, "they are not in the same window",
                 [&] { rank.exchange(route_data(comm.rank(), 1), 1); });
  });
}

TEST(SparseRoute, ANaNIsAnErrorBeforeItsRankAddsAnything) {
  for (const std::int32_t ranks : {1, 2}) {
    run_ranks(ranks, [&](Communicator& comm) {
      RoutedRank rank(comm, exchange_options(GRADSTEP_REDUCER_SPARSE_TOPK, 0.1), kRouteSize);
      Floats data = route_data(comm.rank(), 0);
      if (comm.rank() == ranks - 1) data[7] = std::nanf("");
      expect_error(GRADSTEP_ERR_NUMERIC, "rank " + std::to_string(ranks - 1) + " has NaN: 1 of",
                   [&] { rank.exchange(data, 1); });
      EXPECT_EQ(rank.sum, Floats(kRouteSize, 0));
    });
  }
}

}  // namespace
}  // namespace gradstep::test
