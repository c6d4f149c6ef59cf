// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/int8.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "unit/reduce/world_reduce.h"

namespace gradstep::test {
namespace {

/// Three blocks and a part of one; more than a piece of three ranks; one element; none.
const std::vector<std::vector<std::int64_t>> kCodedShapes = {{800}, {40, 50}, {1}, {0, 3}};

Tensors<float> coded_gradients(std::uint32_t seed) {
  Tensors<float> tensors;
  for (const auto& shape : kCodedShapes) {
    std::int64_t size = 1;
    for (const std::int64_t dimension : shape) size *= dimension;
    tensors.emplace_back(shape, random_values<float>(static_cast<std::size_t>(size), seed++));
  }
  return tensors;
}

std::vector<Tensors<float>> coded_gradients_of_ranks(std::int32_t ranks) {
  std::vector<Tensors<float>> gradients;
  for (std::int32_t r = 0; r < ranks; ++r)
    gradients.push_back(coded_gradients(100 * static_cast<std::uint32_t>(r + 1)));
  return gradients;
}

class Int8OnEngines : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Engines, Int8OnEngines, testing::ValuesIn(engines()),
                         [](const auto& test) { return test.param; });

/// What a code of x leaves out at most, where no number of its block is larger than `largest`: cells of the logarithm
/// have the width of (octaves below the largest + 1.75) / 32 octaves, and a little more at their ends.
double most_left_out(double x, double largest) {
  const double magnitude = std::abs(x);
  if (magnitude == 0) return 0;
  const double octaves = (std::log2(largest / magnitude) + 2) / 32;
  return magnitude * (std::exp2(octaves / 2 * 1.05) - 1) + largest * 0x1p-25;
}

// A mean is coded twice: by each rank, and by the owner of its piece.
TEST_P(Int8OnEngines, TheMeanIsWithinTheCodesOfTheExactOne) {
  for (const std::int32_t ranks : {1, 2, 3}) {
    const auto gradients = coded_gradients_of_ranks(ranks);
    double largest = 0;
    for (const auto& g : gradients) {
      for (const auto& tensor : g) {
        for (const float value : tensor.values) largest = std::max(largest, std::abs(static_cast<double>(value)));
      }
    }
    const auto found = reduce_world(make_world(GetParam(), ranks), mode_options(GRADSTEP_REDUCER_INT8), gradients);
    const auto by_threads = reduce_world(make_world("local", ranks), mode_options(GRADSTEP_REDUCER_INT8), gradients);
    for (std::size_t i = 0; i < kCodedShapes.size(); ++i) {
      for (std::size_t k = 0; k < found[i].values.size(); ++k) {
        double mean = 0;
        double left_out = 0;
        for (const auto& g : gradients) {
          mean += static_cast<double>(g[i].values[k]) / ranks;
          left_out += most_left_out(static_cast<double>(g[i].values[k]), largest) / ranks;
        }
        left_out += most_left_out(std::abs(mean) + left_out, largest);
        ASSERT_NEAR(found[i].values[k], mean, left_out) << ranks << " ranks, parameter " << i << " [" << k << "]";
        ASSERT_EQ(found[i].values[k], by_threads[i].values[k]) << "engines differ";
      }
    }
  }
}

// Nothing is lost: what results and residuals have together is what gradients had, but for f32's roundings. `average`
// says in which units results are.
void expect_nothing_lost(std::int32_t ranks, std::int32_t average) {
  constexpr int kWindows = 5;
  std::vector<double> expected;
  std::vector<std::vector<double>> kept(static_cast<std::size_t>(ranks));
  std::vector<double> results;
  for (int w = 0; w < kWindows; ++w) {
    for (std::int32_t r = 0; r < ranks; ++r) {
      const auto own = coded_gradients(static_cast<std::uint32_t>(1000 * w + 10 * r));
      std::size_t k = 0;
      for (const auto& tensor : own) {
        for (const float g : tensor.values) {
          if (expected.size() <= k) expected.push_back(0);
          expected[k++] += static_cast<double>(g);
        }
      }
    }
  }
  auto options = mode_options(GRADSTEP_REDUCER_INT8);
  options.average = average;
  options.fuse_threshold = 900;  // several buckets
  run_ranks(ranks, [&](Communicator& comm) {
    Reducer reducer(make_context(2), comm, options, make_schema(kCodedShapes));
    std::vector<double> sums(expected.size(), 0);
    for (int w = 0; w < kWindows; ++w) {
      auto own = coded_gradients(static_cast<std::uint32_t>(1000 * w + 10 * comm.rank()));
      const auto views = views_of(own);
      host::reduce(reducer, views.data(), views.data(), views.size(), 1);
      std::size_t k = 0;
      for (const auto& tensor : own) {
        for (const float value : tensor.values) sums[k++] += static_cast<double>(value);
      }
    }
    if (comm.rank() == 0) results = sums;
    auto& residuals = kept[static_cast<std::size_t>(comm.rank())];
    for (std::size_t i = 0; i < kCodedShapes.size(); ++i) {
      const Array residual = reducer.memory().residual(i);
      const auto* numbers = static_cast<const float*>(residual.data);
      residuals.insert(residuals.end(), numbers, numbers + residual.size);
    }
  });
  const double divisor = average == GRADSTEP_AVERAGE_SUM ? 1 : ranks;
  for (std::size_t k = 0; k < expected.size(); ++k) {
    double found = results[k] * divisor;
    for (const auto& residuals : kept) found += residuals[k];
    ASSERT_NEAR(found, expected[k], 1e-5) << k;
  }
}

TEST(Int8, ResultsAndResidualsAddUpToTheGradients) {
  expect_nothing_lost(1, GRADSTEP_AVERAGE_MEAN);
  expect_nothing_lost(2, GRADSTEP_AVERAGE_MEAN);
  expect_nothing_lost(3, GRADSTEP_AVERAGE_SUM);
}

TEST(Int8, WithoutResidualsEveryWindowIsAlike) {
  auto options = mode_options(GRADSTEP_REDUCER_INT8);
  options.residual = 0;
  run_ranks(2, [&](Communicator& comm) {
    Reducer reducer(make_context(), comm, options, make_schema(kCodedShapes));
    std::vector<Tensors<float>> results;
    for (int w = 0; w < 2; ++w) {
      results.push_back(coded_gradients(7));
      const auto views = views_of(results.back());
      host::reduce(reducer, views.data(), views.data(), views.size(), 1);
    }
    for (std::size_t i = 0; i < kCodedShapes.size(); ++i) EXPECT_EQ(results[0][i].values, results[1][i].values) << i;
    expect_error(GRADSTEP_ERR_INVALID_STATE, "residuals", [&] { static_cast<void>(reducer.memory().residual(0)); });
  });
}

// A loss scaler must see it on every rank, and the window must leave nothing behind.
TEST(Int8, ANumberThatIsNotFiniteMakesNaNsOfItsBucketOnAllRanks) {
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(), 3e38F}) {
    run_ranks(3, [&](Communicator& comm) {
      auto options = mode_options(GRADSTEP_REDUCER_INT8);
      options.fuse_threshold = 1000;
      options.average = GRADSTEP_AVERAGE_SUM;
      Reducer reducer(make_context(), comm, options, make_schema({{2000}, {2000}}));
      Reducer plain(make_context(), comm, options, make_schema({{2000}, {2000}}));
      const auto window = [&](Reducer& of, std::uint32_t seed, bool spoiled) {
        Tensors<float> own;
        for (std::uint32_t i = 0; i < 2; ++i) {
          own.emplace_back(std::vector<std::int64_t>{2000}, random_values<float>(2000, seed + i));
        }
        if (spoiled && (comm.rank() == 1 || bad == 3e38F)) own[0].values[1999] = bad;
        const auto views = views_of(own);
        host::reduce(of, views.data(), views.data(), views.size(), 1);
        return own;
      };
      window(reducer, 1, false);
      window(plain, 1, false);
      const auto spoiled = window(reducer, 2, true);
      for (const float value : spoiled[0].values) ASSERT_TRUE(std::isnan(value));
      for (const float value : spoiled[1].values) ASSERT_TRUE(std::isfinite(value));
      const auto after = window(reducer, 3, false);
      const auto expected = window(plain, 3, false);
      for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(after[i].values, expected[i].values) << "something was kept";
    });
  }
}

TEST(Int8, SendsAQuarterOfWhatDenseDoes) {
  run_ranks(4, [](Communicator& comm) {
    constexpr std::int64_t kSize = 1 << 16;
    Reducer reducer(make_context(), comm, mode_options(GRADSTEP_REDUCER_INT8), make_schema({{kSize}}));
    Tensors<float> own;
    own.emplace_back(std::vector<std::int64_t>{kSize}, random_values<float>(kSize, 3));
    const auto views = views_of(own);
    host::reduce(reducer, views.data(), views.data(), views.size(), 1);
    const gradstep_bucket_statistics stats = reducer.bucket_stats()[0];
    EXPECT_LT(stats.bytes_sent, 0.26 * static_cast<double>(stats.bytes_dense));
    EXPECT_EQ(stats.algorithm, GRADSTEP_EXCHANGE_PIECES);
  });
}

TEST(Int8, RefusesF64) {
  run_ranks(2, [](Communicator& comm) {
    expect_error(GRADSTEP_ERR_UNSUPPORTED, "f64", [&] {
      Reducer(make_context(), comm, mode_options(GRADSTEP_REDUCER_INT8), make_schema({{4}}, DType::f64));
    });
  });
}

}  // namespace
}  // namespace gradstep::test
