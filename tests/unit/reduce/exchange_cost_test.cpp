// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What is forecast of an exchange, and what a communicator's statistics count of one: calls, rounds and bytes are
// equal.
#include "reduce/exchange_cost.h"

#include <algorithm>

#include "reduce/predicted_costs.h"
#include "reduce/reducer_options.h"
#include "unit/reduce/world_reduce.h"

namespace gradstep::test {
namespace {

constexpr std::int32_t kForecastRanks = 4;

/// What all ranks made in one window.
struct Counted {
  std::int64_t calls = 0;   // the same on all
  std::int64_t rounds = 0;  // of the rank that has most
  double bytes = 0;         // of a rank on average
};

struct Matrix {
  std::int64_t rows;
  std::int64_t columns;
  bool has_control;
};

/// One that is exchanged in whole pieces, chunks and blocks; one that is gathered; one with pieces of different
/// lengths, of which the last is empty by hosts.
const Matrix kMatrices[] = {{640, 512, false}, {640, 512, true}, {16, 16, false}, {16, 16, true}, {9, 7, false}};

std::int64_t calls_of(const gradstep_comm_statistics& stats) {
  EXPECT_EQ(stats.broadcasts + stats.sends + stats.receives, 0);
  return stats.all_reduces + stats.all_gathers + stats.exchanges + stats.reduce_scatters + stats.barriers;
}

Counted count_window(const World& world, const gradstep_reducer_options& options, const Matrix& matrix) {
  std::vector<gradstep_comm_statistics> made(world.size());
  run(world, [&](Communicator& comm) {
    Reducer reducer(make_context(), comm, options, make_schema({{matrix.rows, matrix.columns}}));
    TestTensor<float> gradient({matrix.rows, matrix.columns});
    gradient.values = random_values<float>(gradient.values.size(), static_cast<std::uint32_t>(comm.rank()) + 1);
    const gradstep_tensor view = gradient.tensor();
    const gradstep_comm_statistics before = reducer.comm().stats();
    host::reduce(reducer, &view, nullptr, 1, 1);
    gradstep_comm_statistics& own = made[static_cast<std::size_t>(comm.rank())];
    own = reducer.comm().stats();
    own.all_reduces -= before.all_reduces;
    own.all_gathers -= before.all_gathers;
    own.exchanges -= before.exchanges;
    own.reduce_scatters -= before.reduce_scatters;
    own.broadcasts -= before.broadcasts;
    own.barriers -= before.barriers;
    own.rounds -= before.rounds;
    own.bytes_sent -= before.bytes_sent;
  });
  Counted counted;
  counted.calls = calls_of(made[0]);
  for (const gradstep_comm_statistics& stats : made) {
    EXPECT_EQ(calls_of(stats), counted.calls);
    counted.rounds = std::max(counted.rounds, stats.rounds);
    counted.bytes += static_cast<double>(stats.bytes_sent) / static_cast<double>(made.size());
  }
  return counted;
}

gradstep_cost_options forecast_options(const Matrix& matrix) {
  auto options = default_cost_options();
  options.elements = options.bucket_elements = matrix.rows * matrix.columns;
  options.rows = matrix.rows;
  options.columns = matrix.columns;
  options.ranks = kForecastRanks;
  options.bandwidth = 1e9;
  options.latency = 1e-3;
  options.control_parameters = matrix.has_control ? 1 : 0;
  return options;
}

gradstep_cost forecast_of(const gradstep_cost_options& options, std::int32_t mode, std::int32_t algorithm) {
  for (const gradstep_cost& cost : predict_costs(options)) {
    if (cost.mode == mode && cost.algorithm == algorithm) return cost;
  }
  ADD_FAILURE() << "no cost of mode " << mode << " by algorithm " << algorithm;
  return {};
}

void expect_forecast(const World& world, const Matrix& matrix, const gradstep_cost_options& forecast, std::int32_t mode,
                     std::int32_t algorithm, std::int32_t sparse_exchange = GRADSTEP_SPARSE_EXCHANGE_AUTO) {
  SCOPED_TRACE(std::string(mode_name(mode)) + " by algorithm " + std::to_string(algorithm) + ", " +
               std::to_string(matrix.rows) + " x " + std::to_string(matrix.columns));
  auto options = mode_options(mode);
  options.sparsity = forecast.sparsity;
  options.sparse_exchange = sparse_exchange;
  options.control = matrix.has_control ? 1 : 0;
  const Counted counted = count_window(world, options, matrix);
  const gradstep_cost expected = forecast_of(forecast, mode, algorithm);
  EXPECT_EQ(counted.calls, expected.calls);
  EXPECT_EQ(counted.rounds, expected.rounds);
  // How many different elements ranks select together is up to the gradients; lists are filled up to whole words.
  const bool depends_on_gradients = algorithm == GRADSTEP_COST_SPARSE_SPLIT;
  const auto bytes = static_cast<double>(expected.bytes);
  // An owner of nothing meets the others: a byte to each of them where the engine has no barrier.
  const double met = algorithm == GRADSTEP_COST_HOSTS ? 0.5 * static_cast<double>(expected.calls) : 0;
  EXPECT_NEAR(counted.bytes, bytes, depends_on_gradients ? 0.02 * bytes + 200 : 0.5 + met);
}

class ForecastsOnEngines : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Engines, ForecastsOnEngines, testing::ValuesIn(engines()),
                         [](const auto& test) { return test.param; });

TEST_P(ForecastsOnEngines, CallsRoundsAndBytesAreThoseThatACommunicatorCounts) {
  const bool gathers = GetParam() == "host_gather";
  const bool sums_natively = GetParam() == "host_all";  // has tests of its own
  const World world = make_world(GetParam(), kForecastRanks);
  for (const Matrix& matrix : kMatrices) {
    auto forecast = forecast_options(matrix);
    forecast.no_exchange = gathers ? 1 : 0;
    for (const std::int32_t mode :
         {GRADSTEP_REDUCER_DENSE, GRADSTEP_REDUCER_HALF, GRADSTEP_REDUCER_BFLOAT16, GRADSTEP_REDUCER_POWERSGD}) {
      if (!sums_natively) expect_forecast(world, matrix, forecast, mode, GRADSTEP_COST_OWN);
    }
    if (sums_natively && matrix.has_control) continue;
    for (const std::int32_t mode :
         {GRADSTEP_REDUCER_INT8, GRADSTEP_REDUCER_INT4, GRADSTEP_REDUCER_FP8_E4M3, GRADSTEP_REDUCER_FP8_E5M2,
          GRADSTEP_REDUCER_ADASUM_TREE, GRADSTEP_REDUCER_ADASUM_NWAY}) {
      expect_forecast(world, matrix, forecast, mode, GRADSTEP_COST_OWN);
    }
    expect_forecast(world, matrix, forecast, GRADSTEP_REDUCER_SPARSE_TOPK, GRADSTEP_COST_SPARSE_GATHER,
                    GRADSTEP_SPARSE_EXCHANGE_GATHER);
    if (gathers) continue;
    expect_forecast(world, matrix, forecast, GRADSTEP_REDUCER_SPARSE_TOPK, GRADSTEP_COST_SPARSE_SPLIT,
                    GRADSTEP_SPARSE_EXCHANGE_SPLIT);
  }
}

// Two hosts of two ranks, one after the other or in turns.
TEST_P(ForecastsOnEngines, ByHostsRoundsInsideAndBetweenThemAreThoseThatACommunicatorCounts) {
  if (GetParam() == "host_gather" || GetParam() == "host_all") GTEST_SKIP() << "no pieces to exchange, or no rounds";
  for (const std::vector<std::uint64_t>& hosts : {std::vector<std::uint64_t>{1, 1, 2, 2}, {5, 9, 5, 9}}) {
    const World world = make_world(GetParam(), kForecastRanks);
    run(world, [&](Communicator& comm) { comm.group_by_hosts(hosts, comm.deadline()); });
    for (const Matrix& matrix : kMatrices) {
      auto forecast = forecast_options(matrix);
      forecast.ranks_per_host = 2;
      for (const std::int32_t mode :
           {GRADSTEP_REDUCER_DENSE, GRADSTEP_REDUCER_HALF, GRADSTEP_REDUCER_BFLOAT16, GRADSTEP_REDUCER_POWERSGD}) {
        expect_forecast(world, matrix, forecast, mode, GRADSTEP_COST_HOSTS);
      }
      for (const std::int32_t mode : kCodedModes) {
        expect_forecast(world, matrix, forecast, mode, GRADSTEP_COST_HOSTS);
      }
      for (const std::int32_t mode : {GRADSTEP_REDUCER_ADASUM_TREE, GRADSTEP_REDUCER_ADASUM_NWAY}) {
        expect_forecast(world, matrix, forecast, mode, GRADSTEP_COST_HOSTS);
      }
    }
  }
}

TEST(ExchangeCost, ARoundOfARingIsWhatEachRankPassesOn) {
  if (!has_gloo()) GTEST_SKIP() << "no ring";
  CommSettings settings;
  settings.reduction_order = GRADSTEP_REDUCTION_ENGINE;
  const Matrix& matrix = kMatrices[0];
  for (const std::int32_t ranks : {2, 3, 4}) {
    const Counted counted =
        count_window(make_world("gloo", ranks, settings), mode_options(GRADSTEP_REDUCER_DENSE), matrix);
    ExchangeSize size{.ranks = static_cast<double>(ranks), .has_ring = true};
    size.elements = static_cast<double>(matrix.rows * matrix.columns);
    EXPECT_EQ(counted.rounds, 2 * (ranks - 1));
    EXPECT_EQ(static_cast<double>(counted.rounds), dense_cost(size).rounds());
    auto forecast = forecast_options(matrix);
    forecast.ranks = ranks;
    EXPECT_EQ(counted.rounds, forecast_of(forecast, GRADSTEP_REDUCER_DENSE, GRADSTEP_COST_RING).rounds);
    EXPECT_NEAR(counted.bytes, dense_cost(size).bytes(), 2 * ranks);
  }
}

/// 17 chunks: the pieces of 17 ranks, or hosts, are equal.
const Matrix kChunks{272, 1024, false};
constexpr std::int32_t kManyRanks = 17;

ExchangeSize size_of(const Matrix& matrix) {
  ExchangeSize size{.ranks = kManyRanks, .is_over_network = true};
  size.elements = static_cast<double>(matrix.rows * matrix.columns);
  return size;
}

TEST(ExchangeCost, GathersBetweenManyRanksTakeARoundForEachStage) {
  if (!has_gloo()) GTEST_SKIP() << "no stages";
  const World world = make_world("gloo", kManyRanks);
  const auto expect_stages = [&](const gradstep_reducer_options& options, const Matrix& matrix,
                                 const ExchangeCost& expected, double stages) {
    const Counted counted = count_window(world, options, matrix);
    EXPECT_EQ(expected.stage, stages) << mode_name(options.mode);
    EXPECT_EQ(static_cast<double>(counted.rounds), expected.rounds()) << mode_name(options.mode);
    EXPECT_NEAR(counted.bytes, expected.bytes(), 0.5) << mode_name(options.mode);
  };
  const Matrix small{16, 16, false};
  expect_stages(mode_options(GRADSTEP_REDUCER_DENSE), small, dense_cost(size_of(small)), 2);
  expect_stages(mode_options(GRADSTEP_REDUCER_ADASUM_TREE), small, adasum_tree_cost(size_of(small)), 2);
  expect_stages(mode_options(GRADSTEP_REDUCER_INT8), small, coded_cost(size_of(small), kernels::NumberCode::octaves),
                2);
  // The dots of five levels of merges.
  expect_stages(mode_options(GRADSTEP_REDUCER_ADASUM_TREE), kChunks, adasum_tree_cost(size_of(kChunks)), 10);
  auto in_half = mode_options(GRADSTEP_REDUCER_HALF);
  in_half.half_sum = GRADSTEP_HALF_SUM_FP16;
  const Matrix divisible{kManyRanks, 16, false};
  expect_stages(in_half, divisible, half_cost(size_of(divisible), /*in_half=*/true), 2);
}

// One host has two ranks, which makes it those that have most rounds; 16 have one.
TEST(ExchangeCost, GathersBetweenManyHostsTakeARoundForEachStage) {
  if (!has_gloo()) GTEST_SKIP() << "no stages";
  const World world = make_world("gloo", kManyRanks + 1);
  std::vector<std::uint64_t> hosts{1};
  for (std::uint64_t host = 1; host <= kManyRanks; ++host) hosts.push_back(host);
  run(world, [&](Communicator& comm) { comm.group_by_hosts(hosts, comm.deadline()); });
  const auto sums = [](const Matrix& matrix) {
    ExchangeSize size = size_of(matrix);
    size.ranks = kManyRanks + 1;
    size.by_hosts = true;
    size.hosts = kManyRanks;
    size.ranks_inside = 2;
    return size;
  };
  const auto expect_stages = [&](std::int32_t mode, const Matrix& matrix, const ExchangeCost& expected, double stages) {
    const Counted counted = count_window(world, mode_options(mode), matrix);
    EXPECT_EQ(expected.between_stage, stages) << mode_name(mode);
    EXPECT_EQ(static_cast<double>(counted.rounds), expected.rounds()) << mode_name(mode);
  };
  const Matrix small{16, 16, false};
  expect_stages(GRADSTEP_REDUCER_DENSE, small, dense_cost(sums(small)), 2);
  for (const std::int32_t mode : kCodedModes) {
    expect_stages(mode, small, coded_cost(sums(small), code_of(mode)), 2);
  }
  expect_stages(GRADSTEP_REDUCER_ADASUM_TREE, kChunks, adasum_tree_cost(sums(kChunks)), 10);
}

// What engines have, TREE or another, is one call and one round.
TEST(ExchangeCost, AnEnginesOwnAllReduceIsOneRound) {
  const World world = make_world("host_all", kForecastRanks);
  for (const Matrix& matrix : kMatrices) {
    expect_forecast(world, matrix, forecast_options(matrix), GRADSTEP_REDUCER_DENSE, GRADSTEP_COST_TREE);
    expect_forecast(world, matrix, forecast_options(matrix), GRADSTEP_REDUCER_POWERSGD, GRADSTEP_COST_TREE);
    ExchangeSize size;
    size.ranks = kForecastRanks;
    size.elements = static_cast<double>(matrix.rows * matrix.columns);
    size.sums_natively = true;
    if (matrix.has_control) continue;
    const Counted half = count_window(world, mode_options(GRADSTEP_REDUCER_HALF), matrix);
    EXPECT_EQ(half.rounds, static_cast<std::int64_t>(half_cost(size).rounds()));
    EXPECT_NEAR(half.bytes, half_cost(size).bytes(), 0.5) << "16 bits travel as f32";
  }
}

TEST(ExchangeCost, SumsInHalfPrecisionAreTwoRoundsOfPieces) {
  const World world = make_world("local", kForecastRanks);
  for (const Matrix& matrix : kMatrices) {
    if (matrix.has_control) continue;
    auto options = mode_options(GRADSTEP_REDUCER_HALF);
    options.half_sum = GRADSTEP_HALF_SUM_FP16;
    const Counted counted = count_window(world, options, matrix);
    ExchangeSize size;
    size.ranks = kForecastRanks;
    size.elements = static_cast<double>(matrix.rows * matrix.columns);
    const ExchangeCost expected = half_cost(size, /*in_half=*/true);
    EXPECT_EQ(counted.calls, static_cast<std::int64_t>(expected.call));
    EXPECT_EQ(counted.rounds, static_cast<std::int64_t>(expected.rounds()));
    EXPECT_NEAR(counted.bytes, expected.bytes(), 0.5);
  }
}

}  // namespace
}  // namespace gradstep::test
