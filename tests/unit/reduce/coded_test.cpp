// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/coded.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reduce/reducer_options.h"
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

/// What a code of x leaves out at most, where no number of its block is larger than `largest`. In int8, cells of the
/// logarithm have the width of (octaves below the largest + 1.75) / 32 octaves, and a little more at their ends.
double most_left_out(std::int32_t mode, double x, double largest) {
  constexpr double kRounded = 1 + 0x1p-20;  // f32, in which all is computed
  const double magnitude = std::abs(x);
  switch (mode) {
    case GRADSTEP_REDUCER_INT4:
      return largest / 14 * kRounded;
    case GRADSTEP_REDUCER_FP8_E4M3:
      return std::max(magnitude / 16, largest * 0x1p-10 / 448) * kRounded;
    case GRADSTEP_REDUCER_FP8_E5M2:
      return std::max(magnitude / 8, largest * 0x1p-17 / 57344) * kRounded;
    default:
      break;
  }
  if (magnitude == 0) return 0;
  const double octaves = (std::log2(largest / magnitude) + 2) / 32;
  return magnitude * (std::exp2(octaves / 2 * 1.05) - 1) + largest * 0x1p-25;
}

class CodedOnEngines : public testing::TestWithParam<std::tuple<std::string, std::int32_t>> {};
INSTANTIATE_TEST_SUITE_P(Engines, CodedOnEngines,
                         testing::Combine(testing::ValuesIn(engines()), testing::ValuesIn(kCodedModes)),
                         [](const auto& test) {
                           return std::get<0>(test.param) + "_" + mode_name(std::get<1>(test.param));
                         });

class Coded : public testing::TestWithParam<std::int32_t> {};
INSTANTIATE_TEST_SUITE_P(Modes, Coded, testing::ValuesIn(kCodedModes),
                         [](const auto& test) { return mode_name(test.param); });

// A mean is coded twice: by each rank, and by the owner of its piece.
TEST_P(CodedOnEngines, TheMeanIsWithinTheCodesOfTheExactOne) {
  const auto& [engine, mode] = GetParam();
  for (const std::int32_t ranks : {1, 2, 3}) {
    const auto gradients = coded_gradients_of_ranks(ranks);
    double largest = 0;
    for (const auto& g : gradients) {
      for (const auto& tensor : g) {
        for (const float value : tensor.values) largest = std::max(largest, std::abs(static_cast<double>(value)));
      }
    }
    const auto found = reduce_world(make_world(engine, ranks), mode_options(mode), gradients);
    const auto by_threads = reduce_world(make_world("local", ranks), mode_options(mode), gradients);
    for (std::size_t i = 0; i < kCodedShapes.size(); ++i) {
      for (std::size_t k = 0; k < found[i].values.size(); ++k) {
        double mean = 0;
        double left_out = 0;
        for (const auto& g : gradients) {
          mean += static_cast<double>(g[i].values[k]) / ranks;
          left_out += most_left_out(mode, static_cast<double>(g[i].values[k]), largest) / ranks;
        }
        left_out += most_left_out(mode, std::abs(mean) + left_out, largest);
        ASSERT_NEAR(found[i].values[k], mean, left_out) << ranks << " ranks, parameter " << i << " [" << k << "]";
        ASSERT_EQ(found[i].values[k], by_threads[i].values[k]) << "engines differ";
      }
    }
  }
}

// Nothing is lost: what results and residuals have together is what gradients had, but for f32's roundings. `average`
// says in which units results are.
void expect_nothing_lost(std::int32_t mode, std::int32_t ranks, std::int32_t average,
                         const std::vector<std::uint64_t>& hosts = {}) {
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
  auto options = mode_options(mode);
  options.average = average;
  options.fuse_threshold = 900;  // several buckets
  run_ranks(ranks, [&](Communicator& comm) {
    if (!hosts.empty()) comm.group_by_hosts(hosts, comm.deadline());
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

TEST_P(Coded, ResultsAndResidualsAddUpToTheGradients) {
  expect_nothing_lost(GetParam(), 1, GRADSTEP_AVERAGE_MEAN);
  expect_nothing_lost(GetParam(), 2, GRADSTEP_AVERAGE_MEAN);
  expect_nothing_lost(GetParam(), 3, GRADSTEP_AVERAGE_SUM);
}

const std::vector<std::vector<std::uint64_t>> kCodedHosts = {{5, 5, 9, 9}, {1, 2, 1, 2, 2}, {3, 3, 3, 4}};

TEST_P(Coded, NothingIsLostByHosts) {
  for (const auto& hosts : kCodedHosts) {
    expect_nothing_lost(GetParam(), static_cast<std::int32_t>(hosts.size()), GRADSTEP_AVERAGE_MEAN, hosts);
  }
}

// The sums of hosts travel as gradients of ranks do.
TEST_P(CodedOnEngines, ByHostsTheBitsAreThoseOfARankForEachHost) {
  const auto& [engine, mode] = GetParam();
  if (engine == "host_gather") GTEST_SKIP() << "no sums by hosts";
  auto options = mode_options(mode);
  options.average = GRADSTEP_AVERAGE_SUM;
  for (const auto& hosts : kCodedHosts) {
    const auto ranks = static_cast<std::int32_t>(hosts.size());
    const auto gradients = coded_gradients_of_ranks(ranks);
    std::vector<std::uint64_t> seen;
    std::vector<Tensors<float>> sums;
    for (std::size_t r = 0; r < hosts.size(); ++r) {
      const auto host = static_cast<std::size_t>(std::ranges::find(seen, hosts[r]) - seen.begin());
      if (host == seen.size()) {
        seen.push_back(hosts[r]);
        sums.push_back(gradients[r]);
        continue;
      }
      for (std::size_t i = 0; i < kCodedShapes.size(); ++i) {
        for (std::size_t k = 0; k < sums[host][i].values.size(); ++k) {
          sums[host][i].values[k] += gradients[r][i].values[k];
        }
      }
    }
    const auto expected = reduce_world(make_world("local", static_cast<std::int32_t>(sums.size())), options, sums);
    run(make_world(engine, ranks), [&](Communicator& comm) {
      comm.group_by_hosts(hosts, comm.deadline());
      Reducer reducer(make_context(), comm, options, make_schema(kCodedShapes));
      auto own = gradients[static_cast<std::size_t>(comm.rank())];
      const auto views = views_of(own);
      host::reduce(reducer, views.data(), views.data(), views.size(), 1);
      for (std::size_t i = 0; i < kCodedShapes.size(); ++i) EXPECT_EQ(own[i].values, expected[i].values) << i;
      EXPECT_EQ(reducer.bucket_stats()[0].by_hosts, 1);
    });
  }
}

// Ranks of all groups wait for the one that does not come: an owner, or one that owns nothing.
TEST_P(CodedOnEngines, ByHostsARankThatAbortsEndsTheWindowOfAll) {
  const auto& [engine, mode] = GetParam();
  if (engine == "host_gather") GTEST_SKIP() << "no sums by hosts";
  for (const std::int32_t absent : {0, 4}) {
    const World world = make_world(engine, 5);
    std::vector<std::unique_ptr<Reducer>> reducers(5);
    run(world, [&](Communicator& comm) {
      comm.group_by_hosts({1, 1, 2, 2, 2}, comm.deadline());
      reducers[static_cast<std::size_t>(comm.rank())] =
          std::make_unique<Reducer>(make_context(), comm, mode_options(mode), make_schema(kCodedShapes));
    });
    const auto outcomes = run_outcomes(world, [&](Communicator& comm) {
      if (comm.rank() == absent) return comm.abort();
      auto own = coded_gradients(static_cast<std::uint32_t>(comm.rank()));
      const auto views = views_of(own);
      host::reduce(*reducers[static_cast<std::size_t>(comm.rank())], views.data(), views.data(), views.size(), 1);
    });
    for (std::size_t r = 0; r < outcomes.size(); ++r) {
      if (static_cast<std::int32_t>(r) == absent) continue;
      EXPECT_NE(outcomes[r].status, GRADSTEP_OK) << r;
      EXPECT_LT(outcomes[r].milliseconds, 10000) << outcomes[r].text;
    }
  }
}

// The number may be one of a rank that owns nothing.
TEST_P(Coded, ByHostsANumberThatIsNotFiniteMakesNaNsOnAllRanks) {
  for (const auto& hosts : kCodedHosts) {
    for (std::int32_t bad = 0; bad < static_cast<std::int32_t>(hosts.size()); ++bad) {
      run_ranks(static_cast<std::int32_t>(hosts.size()), [&](Communicator& comm) {
        comm.group_by_hosts(hosts, comm.deadline());
        Reducer reducer(make_context(), comm, mode_options(GetParam()), make_schema(kCodedShapes));
        for (const bool spoiled : {false, true, false}) {
          auto own = coded_gradients(static_cast<std::uint32_t>(comm.rank()));
          if (spoiled && comm.rank() == bad) own[1].values[77] = std::numeric_limits<float>::infinity();
          const auto views = views_of(own);
          host::reduce(reducer, views.data(), views.data(), views.size(), 1);
          for (const auto& tensor : own) {
            for (const float value : tensor.values) ASSERT_EQ(std::isnan(value), spoiled);
          }
        }
      });
    }
  }
}

/// The largest distance of the results' mean over `windows` from the mean of the same gradients, on rank 0.
double distance_of_mean(std::int32_t mode, int windows, bool residual) {
  auto options = mode_options(mode);
  options.residual = residual ? 1 : 0;
  double distance = 0;
  run_ranks(2, [&](Communicator& comm) {
    Reducer reducer(make_context(), comm, options, make_schema(kCodedShapes));
    std::vector<std::vector<double>> sums;
    for (const auto& tensor : coded_gradients(0)) sums.emplace_back(tensor.values.size(), 0);
    for (int w = 0; w < windows; ++w) {
      auto own = coded_gradients(static_cast<std::uint32_t>(10 * comm.rank()));
      const auto views = views_of(own);
      host::reduce(reducer, views.data(), views.data(), views.size(), 1);
      for (std::size_t i = 0; i < sums.size(); ++i) {
        for (std::size_t k = 0; k < sums[i].size(); ++k) sums[i][k] += static_cast<double>(own[i].values[k]);
      }
    }
    if (comm.rank() != 0) return;
    const auto first = coded_gradients(0);
    const auto second = coded_gradients(10);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      for (std::size_t k = 0; k < sums[i].size(); ++k) {
        const double mean = (static_cast<double>(first[i].values[k]) + static_cast<double>(second[i].values[k])) / 2;
        distance = std::max(distance, std::abs(sums[i][k] / windows - mean));
      }
    }
  });
  return distance;
}

// What is left out of one window goes with the next ones: it is a share of a mean that shrinks with their number.
TEST_P(Coded, MeansOverWindowsConvergeWithResidualsAlone) {
  const double of_one = distance_of_mean(GetParam(), 1, true);
  EXPECT_LT(distance_of_mean(GetParam(), 32, true), of_one * 3 / 32);
  EXPECT_EQ(distance_of_mean(GetParam(), 32, false), of_one);
}

TEST_P(Coded, WithoutResidualsEveryWindowIsAlike) {
  auto options = mode_options(GetParam());
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
TEST_P(Coded, ANumberThatIsNotFiniteMakesNaNsOfItsBucketOnAllRanks) {
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(), 3e38F}) {
    run_ranks(3, [&](Communicator& comm) {
      auto options = mode_options(GetParam());
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

TEST_P(Coded, SendsAQuarterOfWhatDenseDoesOrAnEighth) {
  const double share = GetParam() == GRADSTEP_REDUCER_INT4 ? 0.141 : 0.254;  // 4.5 bits of 32, or 8.125
  run_ranks(4, [&](Communicator& comm) {
    constexpr std::int64_t kSize = 1 << 16;
    Reducer reducer(make_context(), comm, mode_options(GetParam()), make_schema({{kSize}}));
    Tensors<float> own;
    own.emplace_back(std::vector<std::int64_t>{kSize}, random_values<float>(kSize, 3));
    const auto views = views_of(own);
    host::reduce(reducer, views.data(), views.data(), views.size(), 1);
    const gradstep_bucket_statistics stats = reducer.bucket_stats()[0];
    EXPECT_NEAR(static_cast<double>(stats.bytes_sent) / static_cast<double>(stats.bytes_dense), share, 0.001);
    EXPECT_EQ(stats.algorithm, GRADSTEP_EXCHANGE_PIECES);
  });
}

TEST_P(Coded, RefusesF64) {
  run_ranks(2, [](Communicator& comm) {
    expect_error(GRADSTEP_ERR_UNSUPPORTED,
                 std::string("is ") + mode_name(GetParam()) + ", which carries f32, f16 and bf16; a parameter is f64",
                 [&] { Reducer(make_context(), comm, mode_options(GetParam()), make_schema({{4}}, DType::f64)); });
  });
}

}  // namespace
}  // namespace gradstep::test
