// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Predictions against the textbook formulas (Thakur, Rabenseifner, Gropp 2005), and amounts against what is sent.
#include "reduce/predicted_costs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reduce/cost_model.h"
#include "unit/reduce/world_reduce.h"

namespace gradstep::test {
namespace {

/// One bucket of 2^20 f32 on 16 ranks; bytes cost 1 ns, messages 1 ms, and a processor nothing.
gradstep_cost_options plain_options() {
  auto options = default_cost_options();
  options.elements = options.bucket_elements = 1 << 20;
  options.ranks = 16;
  options.bandwidth = 1e9;
  options.latency = 1e-3;
  options.message = 0;
  options.pack_seconds = options.convert_seconds = options.select_seconds = options.entry_seconds =
      options.add_seconds = options.merge_seconds = options.multiply_seconds = options.encode_seconds =
          options.decode_seconds = 0;
  return options;
}

/// plain_options() on 64 ranks, eight on each host.
gradstep_cost_options host_options() {
  auto options = plain_options();
  options.ranks = 64;
  options.ranks_per_host = 8;
  options.host_bandwidth = 1e10;
  options.host_latency = 1e-6;
  return options;
}

gradstep_cost find(const std::vector<gradstep_cost>& costs, std::int32_t mode, std::int32_t algorithm) {
  for (const gradstep_cost& cost : costs) {
    if (cost.mode == mode && cost.algorithm == algorithm) return cost;
  }
  ADD_FAILURE() << "no cost of mode " << mode << " by algorithm " << algorithm;
  return {};
}

double seconds(const gradstep_cost_options& options, std::int32_t algorithm) {
  return find(predict_costs(options), GRADSTEP_REDUCER_DENSE, algorithm).seconds;
}

// Sums of a few f64 products.
constexpr double kExact = 1e-12;
constexpr double kData = 4.0 * (1 << 20);

TEST(PredictedCosts, ARingHasItsFormula) {
  for (const std::int64_t ranks : {2, 3, 16, 1000, 100000}) {
    auto options = plain_options();
    options.ranks = ranks;
    const auto p = static_cast<double>(ranks);
    const double expected = 2 * (p - 1) * (1e-3 + kData / (p * 1e9));
    EXPECT_NEAR(seconds(options, GRADSTEP_COST_RING), expected, kExact * expected) << ranks;
  }
}

TEST(PredictedCosts, BucketsThatAreUnderWayAtOnceShareTheirDelays) {
  auto options = plain_options();
  options.elements = 8 * options.bucket_elements;
  const double bytes = 8 * 2 * kData * 15 / 16 / 1e9;
  for (const std::int32_t channels : {0, 1, 3, 8, 16}) {
    options.channels = channels;
    const double expected = bytes + 8 * 2 * 1e-3 / std::clamp(channels, 1, 8);
    EXPECT_NEAR(seconds(options, GRADSTEP_COST_OWN), expected, kExact * expected) << channels;
    const double ring = bytes + 8 * 30 * 1e-3 / std::clamp(channels, 1, 8);
    EXPECT_NEAR(seconds(options, GRADSTEP_COST_RING), ring, kExact * ring) << channels;
  }
  options.channels = 17;
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "options.channels: is 17, expected 0 to 16",
               [&] { check_cost_options(options); });
}

TEST(PredictedCosts, ATreeHasRabenseifnersFormula) {
  auto options = plain_options();
  const double expected = 2 * 4 * 1e-3 + 2 * kData * 15 / 16 / 1e9;
  EXPECT_NEAR(seconds(options, GRADSTEP_COST_TREE), expected, kExact * expected);
  options.ranks = 17;  // one rank more gives its vector away, and gets the sum
  const double folded = expected + 2 * (1e-3 + kData / 1e9);
  EXPECT_NEAR(seconds(options, GRADSTEP_COST_TREE), folded, kExact * folded);
}

TEST(PredictedCosts, OurOwnAllReduceIsTwoRoundsAndTheBytesOfARing) {
  auto options = plain_options();
  options.message = 1e-5;
  const double expected = 2 * (1e-3 + 15e-5) + 2 * kData * 15 / 16 / 1e9;
  EXPECT_NEAR(seconds(options, GRADSTEP_COST_OWN), expected, kExact * expected);
}

// Between more than 16 ranks few bytes are gathered in stages of 8: two rounds of 7 messages up to 64, three up to 512.
TEST(PredictedCosts, SmallGathersBetweenManyRanksGoInStages) {
  auto options = plain_options();
  options.elements = options.bucket_elements = 10;
  options.message = 1e-5;
  for (const auto& [ranks, stages] : {std::pair{16, 1}, std::pair{17, 2}, std::pair{64, 2}, std::pair{65, 3}}) {
    options.ranks = ranks;
    const double messages = stages == 1 ? ranks - 1 : 7;
    const double expected = stages * (1e-3 + messages * 1e-5) + (ranks - 1) * 40 / 1e9;
    const gradstep_cost cost = find(predict_costs(options), GRADSTEP_REDUCER_DENSE, GRADSTEP_COST_OWN);
    EXPECT_EQ(cost.rounds, stages) << ranks;
    EXPECT_NEAR(cost.network_seconds, expected, kExact * expected) << ranks;
  }
}

TEST(PredictedCosts, GathersGoDirectlyInsideAHostAndOnEnginesWithoutStages) {
  auto options = plain_options();
  options.elements = options.bucket_elements = 10;
  options.ranks = 64;
  const auto rounds = [&] { return find(predict_costs(options), GRADSTEP_REDUCER_DENSE, GRADSTEP_COST_OWN).rounds; };
  EXPECT_EQ(rounds(), 2);
  options.no_stages = 1;
  EXPECT_EQ(rounds(), 1);
  options.no_stages = 0;
  options.ranks_per_host = 64;
  EXPECT_EQ(rounds(), 1);
  options.ranks_per_host = 32;
  EXPECT_EQ(rounds(), 2);
}

// 64 hosts of eight ranks. Codes between hosts travel in a round of 63 messages, and in two stages of 7.
TEST(PredictedCosts, CodesBetweenManyHostsAreGatheredInStages) {
  auto options = host_options();
  options.ranks = 512;
  options.message = 1e-5;
  const double message = 8 + 8 * 260;  // of 2^20 elements in 8 * 64 pieces: a count, and eight blocks
  const double inside = 2 * (1e-6 + 7e-5) + (kData + 512 * message) * 7 / 8 / 1e10;
  const double between = (1e-3 + 63e-5) + 2 * (1e-3 + 7e-5) + 2 * 63 * message * 8 / 1e9;
  for (const std::int32_t mode : {GRADSTEP_REDUCER_INT8, GRADSTEP_REDUCER_FP8_E4M3, GRADSTEP_REDUCER_FP8_E5M2}) {
    const gradstep_cost cost = find(predict_costs(options), mode, GRADSTEP_COST_HOSTS);
    EXPECT_EQ(cost.rounds, 2 + 1 + 2);
    EXPECT_NEAR(cost.seconds, inside + between, kExact * (inside + between)) << mode;
  }
}

// Lists of so many bytes are beyond every integer.
TEST(PredictedCosts, HugeMessagesAreGatheredDirectly) {
  auto options = plain_options();
  options.elements = options.bucket_elements = std::numeric_limits<std::int64_t>::max();
  options.sparsity = 1;
  options.ranks = 32;
  EXPECT_EQ(find(predict_costs(options), GRADSTEP_REDUCER_SPARSE_TOPK, GRADSTEP_COST_SPARSE_GATHER).rounds, 1);
}

TEST(PredictedCosts, AHierarchySendsTheDataThroughAHostsLinkOnce) {
  const auto options = host_options();
  const double inside = 2 * (1e-6 + kData * 7 / 8 / 1e10);
  const double tree = 2 * 3 * 1e-3 + 2 * kData * 7 / 8 / 1e9;
  const double ring = 2 * 7 * (1e-3 + kData / 8 / 1e9);
  ASSERT_LT(tree, ring);
  EXPECT_NEAR(seconds(options, GRADSTEP_COST_HIERARCHICAL), inside + tree, kExact * (inside + tree));
  // Without the hierarchy the link carries the vectors of all eight ranks.
  EXPECT_GT(seconds(options, GRADSTEP_COST_TREE), 8 * 2 * kData * 7 / 8 / 1e9);
  EXPECT_GT(seconds(options, GRADSTEP_COST_OWN), 8 * 2 * kData * 7 / 8 / 1e9);
}

// Two rounds of 7 messages inside, two of 7 between: the seventh of each host, and the same rank's of the others.
TEST(PredictedCosts, OurOwnSumsByHostsHaveTheirFormula) {
  auto options = host_options();
  options.message = 1e-7;
  const double inside = 2 * (1e-6 + 7e-7 + kData * 7 / 8 / 1e10);
  const double between = 2 * (1e-3 + 7e-7 + kData / 8 * 7 / 8 * 8 / 1e9);
  EXPECT_NEAR(seconds(options, GRADSTEP_COST_HOSTS), inside + between, kExact * (inside + between));
  EXPECT_LT(seconds(options, GRADSTEP_COST_HOSTS), seconds(options, GRADSTEP_COST_OWN));
  const gradstep_cost cost = find(predict_costs(options), GRADSTEP_REDUCER_DENSE, GRADSTEP_COST_HOSTS);
  EXPECT_EQ(cost.calls, 1);
  EXPECT_EQ(cost.rounds, 4);
}

TEST(PredictedCosts, RanksOfOneHostDoNotUseItsLink) {
  auto options = plain_options();
  options.ranks_per_host = 16;
  options.bandwidth = 1;
  options.latency = 1000;
  for (const gradstep_cost& cost : predict_costs(options)) EXPECT_LT(cost.seconds, 1) << cost.mode;
}

TEST(PredictedCosts, EveryBucketPaysForItsRounds) {
  auto options = plain_options();
  const double once = seconds(options, GRADSTEP_COST_RING);
  options.bucket_elements /= 4;
  EXPECT_NEAR(seconds(options, GRADSTEP_COST_RING), once + 3 * 2 * 15 * 1e-3, kExact);
}

TEST(PredictedCosts, TheProcessorsWorkIsAdded) {
  auto options = plain_options();
  const auto before = predict_costs(options);
  options.convert_seconds = options.select_seconds = options.merge_seconds = options.multiply_seconds = 1e-9;
  const auto after = predict_costs(options);
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < after.size(); ++i) {
    EXPECT_EQ(after[i].network_seconds, before[i].network_seconds);
    const bool dense = after[i].mode == GRADSTEP_REDUCER_DENSE;
    EXPECT_EQ(after[i].seconds > after[i].network_seconds, !dense) << after[i].mode;
  }
}

TEST(PredictedCosts, OptionsWithoutThePricesOfCodesTakeHalfOfAConversion) {
  auto options = plain_options();
  const auto own_seconds = [&] {
    const gradstep_cost cost = find(predict_costs(options), GRADSTEP_REDUCER_INT8, GRADSTEP_COST_OWN);
    return cost.seconds - cost.network_seconds;
  };
  options.convert_seconds = 2e-9;
  const double halves = own_seconds();
  options.encode_seconds = options.decode_seconds = 1e-9;
  EXPECT_NEAR(own_seconds(), halves, kExact);
  EXPECT_NEAR(halves, (1 << 20) * (4 + 2.0 / 16) * 1e-9, kExact);
}

TEST(PredictedCosts, OneRankSendsNothing) {
  auto options = plain_options();
  options.ranks = 1;
  for (const gradstep_cost& cost : predict_costs(options)) {
    EXPECT_EQ(cost.bytes, 0) << cost.mode;
    EXPECT_EQ(cost.network_seconds, 0) << cost.mode;
  }
}

TEST(PredictedCosts, AHundredThousandRanksAreFinite) {
  auto options = plain_options();
  options.elements = 1000000000000;
  options.ranks = 100000;
  options.ranks_per_host = 8;
  for (const gradstep_cost& cost : predict_costs(options)) {
    EXPECT_TRUE(std::isfinite(cost.seconds) && cost.seconds > 0) << cost.mode;
    EXPECT_GT(cost.bytes, 0) << cost.mode;
  }
}

TEST(PredictedCosts, BadOptionsAreNamed) {
  const auto expect_bad = [](const char* field, auto&& change) {
    auto options = plain_options();
    change(options);
    expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, field, [&] { check_cost_options(options); });
  };
  const double nan = std::nan("");
  check_cost_options(plain_options());
  expect_bad("options.element_bytes", [](auto& o) { o.element_bytes = 2; });
  expect_bad("options.elements", [](auto& o) { o.elements = 0; });
  expect_bad("options.ranks", [](auto& o) { o.ranks = 100001; });
  expect_bad("options.ranks", [](auto& o) { o.ranks = 0; });
  expect_bad("options.ranks_per_host", [](auto& o) { o.ranks_per_host = 3; });
  expect_bad("options.bucket_elements", [](auto& o) { o.bucket_elements = 0; });
  expect_bad("options.bandwidth", [](auto& o) { o.bandwidth = 0; });
  expect_bad("options.bandwidth", [&](auto& o) { o.bandwidth = nan; });
  expect_bad("options.latency", [&](auto& o) { o.latency = nan; });
  expect_bad("options.host_bandwidth", [](auto& o) { o.host_bandwidth = -1; });
  expect_bad("options.host_latency", [](auto& o) { o.host_latency = -1; });
  expect_bad("options.message", [](auto& o) { o.message = INFINITY; });
  expect_bad("options.sparsity", [](auto& o) { o.sparsity = 1.5; });
  expect_bad("options.rank", [](auto& o) { o.rank = 0; });
  expect_bad("options.no_exchange", [](auto& o) { o.no_exchange = 2; });
  expect_bad("options.no_stages", [](auto& o) { o.no_stages = -1; });
  expect_bad("options.encode_seconds", [](auto& o) { o.encode_seconds = -1; });
  expect_bad("options.decode_seconds", [&](auto& o) { o.decode_seconds = nan; });
  expect_bad("options.rows", [](auto& o) { o.rows = 0; });
  expect_bad("options.columns", [](auto& o) { o.columns = 0; });
  expect_bad("options.control_parameters", [](auto& o) { o.control_parameters = -1; });
  expect_bad("options.merge_seconds", [&](auto& o) { o.merge_seconds = nan; });
}

TEST(PredictedCosts, AProcessorIsMeasured) {
  for (const std::int64_t elements : {std::int64_t{1}, std::numeric_limits<std::int64_t>::max()}) {
    const ExchangeCost prices = measure_processor(*make_context(), elements);
    for (const double price : {prices.pack, prices.convert, prices.encode, prices.decode, prices.select, prices.entry,
                               prices.add, prices.merge, prices.multiply}) {
      EXPECT_GT(price, 0);
      EXPECT_LT(price, 10000);
    }
    EXPECT_EQ(prices.byte, 0);
    EXPECT_EQ(prices.round, 0);
  }
}

struct Sent {
  std::int32_t mode;
  std::int32_t algorithm;
  std::int32_t sparse_exchange;
};

class AmountsOnEngines : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Engines, AmountsOnEngines, testing::ValuesIn(engines()),
                         [](const auto& test) { return test.param; });

// 2 %: pieces are whole chunks, messages are rounded to 8 bytes, and selections overlap as they happen to.
TEST_P(AmountsOnEngines, BytesAreThoseThatAReducerSends) {
  constexpr std::int64_t kRows = 640;
  constexpr std::int64_t kColumns = 512;
  const bool gathers = GetParam() == "host_gather";
  for (const std::int32_t ranks : {2, 3, 4}) {
    auto costs = plain_options();
    costs.elements = costs.bucket_elements = kRows * kColumns;
    costs.rows = kRows;
    costs.columns = kColumns;
    costs.ranks = ranks;
    costs.sparsity = 0.01;
    costs.no_exchange = gathers ? 1 : 0;
    const auto predicted = predict_costs(costs);
    std::vector<Sent> ways = {
        {GRADSTEP_REDUCER_DENSE, GRADSTEP_COST_OWN, 0},
        {GRADSTEP_REDUCER_HALF, GRADSTEP_COST_OWN, 0},
        {GRADSTEP_REDUCER_BFLOAT16, GRADSTEP_COST_OWN, 0},
        {GRADSTEP_REDUCER_INT8, GRADSTEP_COST_OWN, 0},
        {GRADSTEP_REDUCER_INT4, GRADSTEP_COST_OWN, 0},
        {GRADSTEP_REDUCER_FP8_E4M3, GRADSTEP_COST_OWN, 0},
        {GRADSTEP_REDUCER_FP8_E5M2, GRADSTEP_COST_OWN, 0},
        {GRADSTEP_REDUCER_POWERSGD, GRADSTEP_COST_OWN, 0},
        {GRADSTEP_REDUCER_ADASUM_TREE, GRADSTEP_COST_OWN, 0},
        {GRADSTEP_REDUCER_ADASUM_NWAY, GRADSTEP_COST_OWN, 0},
        {GRADSTEP_REDUCER_SPARSE_TOPK, GRADSTEP_COST_SPARSE_GATHER, GRADSTEP_SPARSE_EXCHANGE_GATHER},
    };
    if (!gathers) {
      ways.push_back({GRADSTEP_REDUCER_SPARSE_TOPK, GRADSTEP_COST_SPARSE_SPLIT, GRADSTEP_SPARSE_EXCHANGE_SPLIT});
    }
    const World world = make_world(GetParam(), ranks);
    for (const Sent& way : ways) {
      // A host's own all_reduce takes f32 for f16.
      if (GetParam() == "host_all" && way.algorithm == GRADSTEP_COST_OWN) continue;
      auto options = mode_options(way.mode);
      options.sparsity = 0.01;
      options.sparse_exchange = way.sparse_exchange;
      std::vector<double> sent(static_cast<std::size_t>(ranks));
      run(world, [&](Communicator& comm) {
        Reducer reducer(make_context(), comm, options, make_schema({{kRows, kColumns}}));
        TestTensor<float> gradient({kRows, kColumns});
        gradient.values = random_values<float>(gradient.values.size(), static_cast<std::uint32_t>(comm.rank()) + 1);
        const gradstep_tensor view = gradient.tensor();
        host::reduce(reducer, &view, nullptr, 1, 1);
        sent[static_cast<std::size_t>(comm.rank())] = static_cast<double>(reducer.bucket_stats()[0].bytes_sent);
      });
      double mean = 0;
      for (const double bytes : sent) mean += bytes / ranks;
      const auto expected = static_cast<double>(find(predicted, way.mode, way.algorithm).bytes);
      EXPECT_NEAR(mean, expected, 0.02 * expected) << "mode " << way.mode << ", " << ranks << " ranks";
    }
  }
}

}  // namespace
}  // namespace gradstep::test
