// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/cost_model.h"

#include <algorithm>
#include <cmath>

#include "reduce/reducer_options.h"
#include "unit/recorded_log.h"
#include "unit/reduce/world_reduce.h"

namespace gradstep::test {
namespace {

struct Choice {
  BucketChoice options;
  gradstep_bucket_statistics stats;
};

Choice choose(const ExchangeCost& measured, std::int64_t ranks, std::int64_t elements,
              const gradstep_reducer_options& options = mode_options(GRADSTEP_REDUCER_AUTO),
              const ExchangeSize& world = {}, DType dtype = DType::f32, const Together& together = {}) {
  BucketPlan plan;
  plan.elements = elements;
  plan.dtype = dtype;
  ExchangeSize sized = world;
  sized.ranks = static_cast<double>(ranks);
  // A square matrix, nearly.
  const auto side = static_cast<std::int64_t>(std::sqrt(static_cast<double>(elements)));
  const std::vector<std::vector<std::int64_t>> shapes = {{side, side}};
  Choice choice{{}, {}};
  choice.options = CostModel(measured, sized).choose(plan, shapes, options, choice.stats, together);
  return choice;
}

ExchangeCost network(double round, double byte) {
  return {.round = round, .byte = byte, .convert = 0.5, .encode = 0.3, .decode = 0.2, .select = 1, .entry = 5};
}

constexpr std::int64_t kMany = 10000000;

TEST(CostModel, AFastNetworkIsLeftAlone) {
  EXPECT_EQ(choose(network(1000, 0.01), 4, kMany).options.mode, GRADSTEP_REDUCER_DENSE);
}

TEST(CostModel, ASlowNetworkIsSpared) {
  EXPECT_EQ(choose(network(1000, 10), 4, kMany).options.mode, GRADSTEP_REDUCER_SPARSE_TOPK);
}

TEST(CostModel, BetweenThemHalfThePrecisionServes) {
  auto slow_selection = network(1000, 0.5);
  slow_selection.select = 10;
  EXPECT_EQ(choose(slow_selection, 4, kMany).options.mode, GRADSTEP_REDUCER_HALF);
}

// Gathering grows with the ranks: with more of them than 1 / sparsity it sends more than a dense sum.
TEST(CostModel, ManyRanksSplitAndTooManyDoNotGather) {
  auto options = mode_options(GRADSTEP_REDUCER_AUTO);
  options.sparsity = 0.2;
  const Choice split = choose(network(1000, 10), 64, kMany, options);
  EXPECT_GT(split.stats.predicted_sparse_gather_nanoseconds, split.stats.predicted_dense_nanoseconds);
  EXPECT_LT(split.stats.predicted_sparse_split_nanoseconds, split.stats.predicted_sparse_gather_nanoseconds);
  // Where everything is gathered, dense sums grow as well.
  const Choice gathers_only = choose(network(1000, 10), 64, kMany, options, {.can_exchange = false});
  EXPECT_EQ(gathers_only.stats.predicted_sparse_split_nanoseconds, 0);
  EXPECT_GT(gathers_only.stats.predicted_dense_nanoseconds, 16 * split.stats.predicted_dense_nanoseconds);
  EXPECT_EQ(gathers_only.options.mode, GRADSTEP_REDUCER_SPARSE_TOPK);
}

// Where a round costs most, a bucket alone is sent densely, and many of them, whose rounds are common, are not.
TEST(CostModel, BucketsThatLeaveTogetherShareTheirRounds) {
  const ExchangeSize world{.is_over_network = true};
  auto options = mode_options(GRADSTEP_REDUCER_AUTO);
  options.candidates = 1 << GRADSTEP_REDUCER_DENSE | 1 << GRADSTEP_REDUCER_POWERSGD;
  constexpr std::int64_t kSmall = 10000;
  const ExchangeCost slow = network(100000, 1);
  const Choice alone = choose(slow, 4, kSmall, options, world, DType::f32);
  const Choice together = choose(slow, 4, kSmall, options, world, DType::f32, {.buckets = 16});
  EXPECT_EQ(alone.options.mode, GRADSTEP_REDUCER_DENSE);
  EXPECT_EQ(together.options.mode, GRADSTEP_REDUCER_POWERSGD);
  EXPECT_EQ(alone.stats.predicted_dense_nanoseconds, together.stats.predicted_dense_nanoseconds);
  const Choice by_channels = choose(slow, 4, kSmall, options, world, DType::f32, {.buckets = 16, .channels = 16});
  EXPECT_EQ(by_channels.stats.predicted_powersgd_nanoseconds, alone.stats.predicted_powersgd_nanoseconds)
      << "each bucket has a channel of its own";
  const Choice sums_apart = choose(slow, 4, kSmall, options, world, DType::f32, {.buckets = 16, .share_sums = false});
  EXPECT_EQ(sums_apart.options.mode, GRADSTEP_REDUCER_DENSE);
  const Choice near = choose(slow, 4, kSmall, options, {}, DType::f32, {.buckets = 16});
  EXPECT_EQ(near.stats.predicted_powersgd_nanoseconds, alone.stats.predicted_powersgd_nanoseconds)
      << "ranks of one machine have no common rounds";
}

TEST(CostModel, SmallBucketsAreNotWorthASelection) {
  auto options = mode_options(GRADSTEP_REDUCER_AUTO);
  options.candidates = 1 << GRADSTEP_REDUCER_DENSE | 1 << GRADSTEP_REDUCER_SPARSE_TOPK;
  EXPECT_EQ(choose(network(100000, 1), 4, 100, options).options.mode, GRADSTEP_REDUCER_DENSE);
}

TEST(CostModel, OnlyCandidatesAreChosen) {
  auto options = mode_options(GRADSTEP_REDUCER_AUTO);
  options.candidates = 1 << GRADSTEP_REDUCER_HALF;
  const Choice choice = choose(network(1000, 10), 4, kMany, options);
  EXPECT_EQ(choice.options.mode, GRADSTEP_REDUCER_HALF);
  EXPECT_EQ(choice.stats.predicted_dense_nanoseconds, 0);
  options.candidates = 1 << GRADSTEP_REDUCER_ADASUM_TREE;
  run_ranks(1, [&](Communicator& comm) {
    expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "options.candidates",
                 [&] { Reducer(make_context(), comm, options, make_schema({{4}})); });
  });
}

constexpr std::int32_t kEvery = 1 << GRADSTEP_REDUCER_DENSE | 1 << GRADSTEP_REDUCER_HALF |
                                1 << GRADSTEP_REDUCER_SPARSE_TOPK | 1 << GRADSTEP_REDUCER_POWERSGD |
                                1 << GRADSTEP_REDUCER_INT8 | 1 << GRADSTEP_REDUCER_INT4 |
                                1 << GRADSTEP_REDUCER_FP8_E4M3 | 1 << GRADSTEP_REDUCER_FP8_E5M2;

// On a network so slow powersgd, at two columns, sends least of all; codes more than a hundredth of the elements.
TEST(CostModel, PowerSgdAndCodesAreChosenOnlyWhereTheyAreAskedFor) {
  const auto slow = network(1000, 10);
  const Choice unasked = choose(slow, 4, kMany);
  EXPECT_EQ(unasked.options.mode, GRADSTEP_REDUCER_SPARSE_TOPK);
  EXPECT_EQ(unasked.stats.predicted_int8_nanoseconds, 0);
  EXPECT_EQ(unasked.stats.predicted_int4_nanoseconds, 0);
  EXPECT_EQ(unasked.stats.predicted_fp8_nanoseconds, 0);
  EXPECT_EQ(unasked.stats.predicted_powersgd_nanoseconds, 0);
  const Choice asked = choose(slow, 4, kMany, auto_of(kEvery));
  EXPECT_EQ(asked.options.mode, GRADSTEP_REDUCER_POWERSGD);
  EXPECT_GT(asked.stats.predicted_int4_nanoseconds, asked.stats.predicted_powersgd_nanoseconds);
  EXPECT_GT(asked.stats.predicted_int8_nanoseconds, asked.stats.predicted_int4_nanoseconds);
  EXPECT_EQ(asked.stats.predicted_fp8_nanoseconds, asked.stats.predicted_int8_nanoseconds);
  EXPECT_GT(asked.stats.predicted_half_nanoseconds, asked.stats.predicted_int8_nanoseconds);
  EXPECT_EQ(choose(slow, 4, kMany, auto_of(1 << GRADSTEP_REDUCER_HALF | 1 << GRADSTEP_REDUCER_INT8)).options.mode,
            GRADSTEP_REDUCER_INT8);
  constexpr std::int32_t kCodes = 1 << GRADSTEP_REDUCER_INT8 | 1 << GRADSTEP_REDUCER_INT4;
  EXPECT_EQ(choose(slow, 4, kMany, auto_of(kCodes)).options.mode, GRADSTEP_REDUCER_INT4);
  for (const std::int32_t mode : kCodedModes) {
    EXPECT_EQ(choose(slow, 4, kMany, auto_of(1 << GRADSTEP_REDUCER_HALF | 1 << mode)).options.mode, mode);
  }
}

// It is one round more than dense, and takes a round's time that it has to save beside.
TEST(CostModel, SmallBucketsAreNotWorthACode) {
  const auto options = auto_of(1 << GRADSTEP_REDUCER_DENSE | 1 << GRADSTEP_REDUCER_INT8);
  EXPECT_EQ(choose(network(100000, 1), 4, 4000, options).options.mode, GRADSTEP_REDUCER_DENSE);
  EXPECT_EQ(choose(network(100, 1), 4, kMany, options).options.mode, GRADSTEP_REDUCER_INT8);
}

TEST(CostModel, CodesAreNoCandidatesForF64) {
  const Choice choice = choose(network(1000, 10), 4, kMany, auto_of(kEvery), {}, DType::f64);
  EXPECT_EQ(choice.stats.predicted_int8_nanoseconds, 0);
  EXPECT_EQ(choice.stats.predicted_int4_nanoseconds, 0);
  EXPECT_EQ(choice.stats.predicted_fp8_nanoseconds, 0);
  for (const std::int32_t mode : kCodedModes) {
    EXPECT_EQ(choose(network(1000, 10), 4, kMany, auto_of(1 << mode), {}, DType::f64).options.mode,
              GRADSTEP_REDUCER_DENSE);
  }
}

// A ring has the bytes of a direct sum, and a delay for each step; a step is shorter than a round of 7 messages.
TEST(CostModel, TheDelaysOfARingCount) {
  auto prices = network(1000, 0.01);
  prices.step = 300;
  const Choice direct = choose(prices, 8, kMany);
  const Choice ring = choose(prices, 8, kMany, mode_options(GRADSTEP_REDUCER_AUTO), {.has_ring = true});
  const double pieces = std::ceil(4.0 * kMany / (8.0 * static_cast<double>(kPieceBytes)));
  EXPECT_NEAR(static_cast<double>(ring.stats.predicted_dense_nanoseconds - direct.stats.predicted_dense_nanoseconds),
              14 * 300 - 2 * pieces * 1000, 2);
  // 16 bits are summed in the order of ranks.
  EXPECT_EQ(ring.stats.predicted_half_nanoseconds, direct.stats.predicted_half_nanoseconds);
}

// Each of 4 ranks encodes all of its elements and a quarter of the sum. It reads both again for its residual, a quarter
// of all ranks' elements, and the whole sum.
TEST(CostModel, WhatCodesTakeOfAProcessorCounts) {
  const auto int8_alone = auto_of(1 << GRADSTEP_REDUCER_INT8);
  const auto predicted = [&](double encode, double decode) {
    ExchangeCost prices{.round = 1000, .byte = 0.01};
    prices.encode = encode;
    prices.decode = decode;
    return static_cast<double>(choose(prices, 4, kMany, int8_alone).stats.predicted_int8_nanoseconds);
  };
  EXPECT_NEAR(predicted(1, 0) - predicted(0, 0), 1.25 * kMany, 2);
  EXPECT_NEAR(predicted(0, 1) - predicted(0, 0), 3.25 * kMany, 2);
  // On a fast network it is no longer free.
  auto prices = network(1000, 0.2);
  const auto either = auto_of(1 << GRADSTEP_REDUCER_DENSE | 1 << GRADSTEP_REDUCER_INT8);
  prices.encode = prices.decode = 0.01;
  EXPECT_EQ(choose(prices, 4, kMany, either).options.mode, GRADSTEP_REDUCER_INT8);
  prices.encode = prices.decode = 1;
  EXPECT_EQ(choose(prices, 4, kMany, either).options.mode, GRADSTEP_REDUCER_DENSE);
}

// 16 ranks on 4 hosts. By hosts there are two rounds more, and a quarter of the bytes between hosts.
TEST(CostModel, LargeBucketsAreSummedByHostsAndSmallOnesByRanksWhereBothMayBe) {
  ExchangeCost prices = network(1000, 1);
  prices.inside_round = 500;
  prices.inside_byte = 0.01;
  prices.between_round = 1000;
  prices.between_byte = 1;
  const ExchangeSize world{.by_hosts = true, .hosts = 4, .ranks_inside = 4, .owners = 4};
  const auto either = auto_of(1 << GRADSTEP_REDUCER_DENSE | GRADSTEP_CANDIDATE_HOSTS);
  EXPECT_EQ(choose(prices, 16, kMany, either, world).options.by_hosts, 1);
  EXPECT_EQ(choose(prices, 16, 10, either, world).options.by_hosts, 0);
  const auto only = auto_of(1 << GRADSTEP_REDUCER_DENSE);
  EXPECT_EQ(choose(prices, 16, 10, only, world).options.by_hosts, 1) << "the communicator's order";
  EXPECT_LT(choose(prices, 16, 10, either, world).stats.predicted_dense_nanoseconds,
            choose(prices, 16, 10, only, world).stats.predicted_dense_nanoseconds);
}

class AutoOnEngines : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Engines, AutoOnEngines, testing::ValuesIn(engines()),
                         [](const auto& test) { return test.param; });

TEST_P(AutoOnEngines, RanksChooseAlikeAndSayWhat) {
  const World world = make_world(GetParam(), 3);
  std::vector<std::vector<gradstep_bucket_statistics>> all(3);
  run(world, [&](Communicator& comm) {
    auto options = mode_options(GRADSTEP_REDUCER_AUTO);
    options.fuse_threshold = 1000;
    Reducer reducer(make_context(), comm, options, make_schema({{50000}, {10}, {700, 3}}));
    TestTensor<float> a({50000}, 1.0F), b({10}, 2.0F), c({700, 3}, 3.0F);
    const gradstep_tensor views[] = {a.tensor(), b.tensor(), c.tensor()};
    host::reduce(reducer, views, views, 3, 1);
    all[static_cast<std::size_t>(comm.rank())] = reducer.bucket_stats();
  });
  for (const auto& stats : all) {
    ASSERT_EQ(stats.size(), all[0].size());
    for (std::size_t k = 0; k < stats.size(); ++k) {
      EXPECT_EQ(stats[k].mode, all[0][k].mode);
      EXPECT_EQ(stats[k].predicted_dense_nanoseconds, all[0][k].predicted_dense_nanoseconds);
      EXPECT_GT(stats[k].predicted_dense_nanoseconds, 0);
      EXPECT_EQ(stats[k].exchanges, 1);
    }
  }
}

// What a step takes is measured between neighbours, where sums go round a ring.
TEST(Auto, RanksOfARingChooseAlike) {
  const auto known = engines();
  if (std::ranges::find(known, "gloo") == known.end()) GTEST_SKIP() << "no ring";
  constexpr std::int32_t kRanks = 4;
  CommSettings settings;
  settings.reduction_order = GRADSTEP_REDUCTION_ENGINE;
  std::vector<gradstep_bucket_statistics> all(kRanks);
  run(make_world("gloo", kRanks, settings), [&](Communicator& comm) {
    const Reducer reducer(make_context(), comm, mode_options(GRADSTEP_REDUCER_AUTO), make_schema({{1 << 20}}));
    all[static_cast<std::size_t>(comm.rank())] = reducer.bucket_stats()[0];
  });
  for (const auto& stats : all) {
    EXPECT_EQ(stats.mode, all[0].mode);
    EXPECT_EQ(stats.predicted_dense_nanoseconds, all[0].predicted_dense_nanoseconds);
    EXPECT_GT(stats.predicted_dense_nanoseconds, 1);
  }
}

TEST(Auto, OneRankIsDense) {
  run_ranks(1, [](Communicator& comm) {
    Reducer reducer(make_context(), comm, mode_options(GRADSTEP_REDUCER_AUTO), make_schema({{10}}));
    EXPECT_EQ(reducer.bucket_stats()[0].mode, GRADSTEP_REDUCER_DENSE);
  });
}

TEST(Auto, WhatWasChosenIsInTheLog) {
  RecordedLog records;
  const auto context = records.context();
  run_ranks(2, [&](Communicator& comm) {
    Reducer reducer(context, comm, mode_options(GRADSTEP_REDUCER_AUTO), make_schema({{10}}));
  });
  EXPECT_EQ(records.count(GRADSTEP_LOG_INFO, "reducer: bucket 0 of 10 elements: mode auto is "), 2);
}

}  // namespace
}  // namespace gradstep::test
