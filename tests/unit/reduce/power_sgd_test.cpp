// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/power_sgd.h"

#include "unit/memory_stream.h"
#include "unit/reduce/world_reduce.h"

namespace gradstep::test {
namespace {

constexpr std::int64_t kRows = 40;
constexpr std::int64_t kCols = 60;

gradstep_reducer_options power_options(std::int32_t rank) {
  auto options = mode_options(GRADSTEP_REDUCER_POWERSGD);
  options.rank = rank;
  return options;
}

/// A sum of `rank` outer products.
std::vector<double> low_rank(std::int32_t rank, std::uint32_t seed) {
  std::vector<double> m(kRows * kCols, 0);
  for (std::int32_t k = 0; k < rank; ++k) {
    const auto a = random_values<double>(kRows, seed + 10 * static_cast<std::uint32_t>(k));
    const auto b = random_values<double>(kCols, seed + 10 * static_cast<std::uint32_t>(k) + 5);
    for (std::size_t i = 0; i < kRows; ++i) {
      for (std::size_t j = 0; j < kCols; ++j) m[i * kCols + j] += a[i] * b[j];
    }
  }
  return m;
}

template <class T>
std::vector<T> cast(const std::vector<double>& values) {
  return std::vector<T>(values.begin(), values.end());
}

class PowerSgdOnEngines : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Engines, PowerSgdOnEngines, testing::ValuesIn(engines()),
                         [](const auto& test) { return test.param; });

// Matrices whose sum has no more than `rank` independent rows lose nothing but roundings (f32: 1e-5 of the largest);
// vectors, and what factors would not make smaller, travel as they are.
TEST_P(PowerSgdOnEngines, AMeanOfLowRankIsFoundAndVectorsAreExact) {
  std::vector<Tensors<float>> gradients(3);
  for (std::uint32_t r = 0; r < 3; ++r) {
    gradients[r].emplace_back(std::vector<std::int64_t>{kRows, 6, kCols / 6}, cast<float>(low_rank(1, 100 * r)));
    gradients[r].emplace_back(std::vector<std::int64_t>{kCols}, random_values<float>(kCols, r));
    gradients[r].emplace_back(std::vector<std::int64_t>{2, 3}, random_values<float>(6, r));
    gradients[r].emplace_back(std::vector<std::int64_t>{0, 3});
  }
  const auto found = reduce_world(make_world(GetParam(), 3), power_options(3), gradients);
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t k = 0; k < found[i].values.size(); ++k) {
      float sum = 0;
      for (const auto& g : gradients) sum += g[i].values[k];
      if (i == 0) {
        ASSERT_NEAR(found[i].values[k], sum / 3, 2e-4) << k;
      } else {
        ASSERT_EQ(found[i].values[k], sum / 3) << "parameter " << i << " [" << k << "]";
      }
    }
  }
}

TEST(PowerSgd, SumsAreSoManyMeans) {
  std::vector<Tensors<double>> gradients(2);
  for (std::uint32_t r = 0; r < 2; ++r) {
    gradients[r].emplace_back(std::vector<std::int64_t>{kRows, kCols}, low_rank(1, 100 * r));
  }
  auto options = power_options(2);
  options.average = GRADSTEP_AVERAGE_SUM;
  const auto found = reduce_world(make_world("local", 2), options, gradients);
  for (std::size_t k = 0; k < kRows * kCols; ++k) {
    ASSERT_NEAR(found[0].values[k], gradients[0][0].values[k] + gradients[1][0].values[k], 1e-10);
  }
}

// What is left out comes later: results and the last residual add up to the gradients.
TEST(PowerSgd, ResultsAndResidualAddUpToTheGradients) {
  run_ranks(2, [](Communicator& comm) {
    Reducer reducer(make_context(2), comm, power_options(2), make_schema({{kRows, kCols}}, DType::f64));
    std::vector<double> sum(kRows * kCols, 0);
    std::vector<double> results(kRows * kCols, 0);
    for (std::uint32_t w = 0; w < 4; ++w) {
      // Equal on both ranks, so that each rank's residual is that of the mean.
      TestTensor<double> g({kRows, kCols}, random_values<double>(kRows * kCols, w));
      const gradstep_tensor tensor = g.tensor();
      for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += g.values[k];
      host::reduce(reducer, &tensor, &tensor, 1, 1);
      for (std::size_t k = 0; k < sum.size(); ++k) results[k] += g.values[k];
    }
    const auto* residual = static_cast<const double*>(reducer.memory().residual(0).data);
    for (std::size_t k = 0; k < sum.size(); ++k) ASSERT_NEAR(results[k] + residual[k], sum[k], 1e-12) << k;
  });
}

// Where a gradient is zero, or has fewer independent rows than there are factors, some factors have no direction to go
// on from.
TEST(PowerSgd, AWindowWithoutDirectionsDoesNotKeepThoseAfterItFromHavingSome) {
  run_ranks(2, [](Communicator& comm) {
    Reducer reducer(make_context(), comm, power_options(2), make_schema({{kRows, kCols}}, DType::f64));
    const auto window = [&](const std::vector<double>& gradient) {
      TestTensor<double> g({kRows, kCols}, gradient);
      const gradstep_tensor tensor = g.tensor();
      host::reduce(reducer, &tensor, &tensor, 1, 1);
      return g.values;
    };
    window(std::vector<double>(kRows * kCols, 0));
    window(low_rank(1, 7));
    const std::vector<double> constant = low_rank(2, 3);
    std::vector<double> found;
    for (int w = 0; w < 8; ++w) found = window(constant);
    for (std::size_t k = 0; k < constant.size(); ++k) ASSERT_NEAR(found[k], constant[k], 1e-6) << k;
  });
}

// Power iteration goes on from window to window: the best approximation of a constant matrix is found in the end.
TEST(PowerSgd, AWarmStartFindsTheLargestSingularVectors) {
  run_ranks(1, [](Communicator& comm) {
    auto options = power_options(1);
    Reducer reducer(make_context(), comm, options, make_schema({{kRows, kCols}}, DType::f64));
    // Singular values 10 and 1: the residual's part across the first vectors shrinks by 100 per window.
    std::vector<double> m(kRows * kCols, 0);
    m[0] = 10;
    m[kCols + 1] = 1;
    std::vector<double> result;
    for (int w = 0; w < 4; ++w) {
      std::memset(reducer.memory().residual(0).data, 0, sizeof(double) * m.size());
      TestTensor<double> g({kRows, kCols}, m);
      const gradstep_tensor tensor = g.tensor();
      host::reduce(reducer, &tensor, &tensor, 1, 1);
      result = g.values;
    }
    EXPECT_NEAR(result[0], 10, 1e-6);
    EXPECT_NEAR(result[kCols + 1], 0, 1e-6);
  });
}

TEST(PowerSgd, FewerBytesTravelThanInDenseSums) {
  run_ranks(2, [](Communicator& comm) {
    Reducer reducer(make_context(), comm, power_options(2), make_schema({{400, 500}}));
    TestTensor<float> g({400, 500}, 1.0F);
    const gradstep_tensor tensor = g.tensor();
    host::reduce(reducer, &tensor, nullptr, 1, 1);
    const auto stats = reducer.bucket_stats()[0];
    EXPECT_LT(stats.bytes_sent * 50, stats.bytes_dense);
    EXPECT_EQ(stats.algorithm, GRADSTEP_EXCHANGE_FACTORS);
  });
}

TEST(PowerSgd, AZeroGradientIsZero) {
  run_ranks(2, [](Communicator& comm) {
    Reducer reducer(make_context(), comm, power_options(2), make_schema({{kRows, kCols}}));
    TestTensor<float> g({kRows, kCols}, 0.0F);
    const gradstep_tensor tensor = g.tensor();
    host::reduce(reducer, &tensor, &tensor, 1, 1);
    EXPECT_EQ(g.values, std::vector<float>(kRows * kCols, 0));
  });
}

TEST(PowerSgd, FactorsAndResidualsAreSavedAndGoOnWithTheSameBits) {
  run_ranks(2, [](Communicator& comm) {
    const Schema schema = make_schema({{kRows, kCols}, {7}});
    Reducer whole(make_context(), comm, power_options(2), schema);
    const auto reduce = [&](Reducer& reducer, std::uint32_t window) {
      const auto seed = window + 100 * static_cast<std::uint32_t>(comm.rank());
      TestTensor<float> a({kRows, kCols}, random_values<float>(kRows * kCols, seed));
      TestTensor<float> b({7}, random_values<float>(7, seed));
      const gradstep_tensor views[] = {a.tensor(), b.tensor()};
      host::reduce(reducer, views, views, 2, 1);
      return a.values;
    };
    for (std::uint32_t w = 0; w < 3; ++w) reduce(whole, w);
    const std::string bytes = saved_bytes("reducer", {{"", whole.saved().save()}});
    Reducer resumed(make_context(), comm, power_options(2), schema);
    const StateFile file = read_bytes(bytes);
    LoadedPart part(file, "");
    resumed.saved().load(part)();
    EXPECT_EQ(reduce(whole, 3), reduce(resumed, 3));
  });
}

TEST(PowerSgd, ARankBelowOneIsRefused) {
  run_ranks(1, [](Communicator& comm) {
    expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "options.rank: is 0",
                 [&] { Reducer(make_context(), comm, power_options(0), make_schema({{4, 4}})); });
  });
}

}  // namespace
}  // namespace gradstep::test
