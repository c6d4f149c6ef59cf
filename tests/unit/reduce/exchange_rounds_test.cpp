// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/exchange_rounds.h"

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>

#include "detached/deferring_backend.h"
#include "reduce/predicted_costs.h"
#include "unit/reduce/exchange_fixture.h"
#include "unit/reduce/world_reduce.h"

namespace gradstep::test {
namespace {

constexpr std::int32_t kRanks = 3;

/// What `from` gives to `to` in round k.
std::byte content(std::size_t k, std::size_t from, std::size_t to) {
  return static_cast<std::byte>(100 * k + 10 * from + to);
}

void expect_block(const std::byte* block, std::int64_t bytes, std::byte value) {
  for (std::int64_t i = 0; i < bytes; ++i) ASSERT_EQ(block[i], value);
}

ExchangeResources rounds_of(Communicator& comm) {
  return make_exchange(comm, exchange_options(GRADSTEP_REDUCER_POWERSGD), make_schema({{4, 4}}));
}

TEST(RoundMaker, GathersThatAreOneBringTheBlocksOfEach) {
  run_ranks(kRanks, [](Communicator& comm) {
    ExchangeResources resources = rounds_of(comm);
    RoundMaker maker(resources);
    const auto rank = static_cast<std::size_t>(comm.rank());
    const std::vector<std::byte> first(24, content(0, rank, 0));
    const std::vector<std::byte> second(8, content(1, rank, 0));
    const Round a{Call::all_gather(first.data(), nullptr, 24), 24};
    const Round b{Call::all_gather(second.data(), nullptr, 8), 8};
    const Round* const both[] = {&a, &b};
    const std::int64_t before = resources.comm->stats().rounds;
    maker.make(both, comm.deadline());
    EXPECT_EQ(resources.comm->stats().rounds - before, 1);
    for (std::size_t r = 0; r < kRanks; ++r) {
      expect_block(maker.received(0).blocks[r], 24, content(0, r, 0));
      expect_block(maker.received(1).blocks[r], 8, content(1, r, 0));
      const DataPlane::Seen seen = maker.received(1).seen;
      expect_block(seen.first + static_cast<std::int64_t>(r) * seen.stride, 8, content(1, r, 0));
    }
  });
}

TEST(RoundMaker, BlocksOfAnyLengthReachTheirRanks) {
  run_ranks(kRanks, [](Communicator& comm) {
    ExchangeResources resources = rounds_of(comm);
    RoundMaker maker(resources);
    const auto rank = static_cast<std::size_t>(comm.rank());
    // Rank r gives 8 (r + k) bytes to all, and 8 (r + q + k) to rank q.
    const auto gathered = [](std::size_t k, std::size_t r) { return static_cast<std::int64_t>(8 * (r + k)); };
    const auto given = [](std::size_t k, std::size_t r, std::size_t q) {
      return static_cast<std::int64_t>(8 * (r + q + k));
    };
    std::vector<std::int64_t> counts[2];
    std::vector<std::int64_t> sent[2];
    std::vector<std::int64_t> received[2];
    std::vector<std::byte> own[2];
    std::vector<std::byte> pieces[2];
    for (const std::size_t k : {0U, 1U}) {
      for (std::size_t r = 0; r < kRanks; ++r) {
        counts[k].push_back(gathered(k, r));
        sent[k].push_back(given(k, rank, r));
        received[k].push_back(given(k, r, rank));
        pieces[k].insert(pieces[k].end(), static_cast<std::size_t>(sent[k].back()), content(k, rank, r));
      }
      own[k].assign(static_cast<std::size_t>(gathered(k, rank)), content(k, rank, 0));
    }
    const Round gathers[] = {{Call::all_gather_v(own[0].data(), nullptr, counts[0])},
                             {Call::all_gather_v(own[1].data(), nullptr, counts[1])}};
    const Round exchanges[] = {{Call::exchange(pieces[0].data(), sent[0], nullptr, received[0])},
                               {Call::exchange(pieces[1].data(), sent[1], nullptr, received[1])}};
    const Round* const both_gathers[] = {&gathers[0], &gathers[1]};
    maker.make(both_gathers, comm.deadline());
    for (const std::size_t k : {0U, 1U}) {
      for (std::size_t r = 0; r < kRanks; ++r) {
        expect_block(maker.received(k).blocks[r], gathered(k, r), content(k, r, 0));
      }
    }
    const Round* const both_exchanges[] = {&exchanges[0], &exchanges[1]};
    maker.make(both_exchanges, comm.deadline());
    for (const std::size_t k : {0U, 1U}) {
      for (std::size_t r = 0; r < kRanks; ++r) {
        expect_block(maker.received(k).blocks[r], given(k, r, rank), content(k, r, rank));
      }
    }
  });
}

template <class T>
std::vector<T> numbers_of(std::int32_t rank, std::size_t count) {
  return random_values<T>(count, static_cast<std::uint32_t>(rank) + 1);
}

TEST(RoundMaker, SumsThatAreOneHaveTheBitsOfEach) {
  run_ranks(kRanks, [](Communicator& comm) {
    ExchangeResources resources = rounds_of(comm);
    RoundMaker maker(resources);
    const auto sum = [&](auto& numbers, double divisor) {
      using T = typename std::decay_t<decltype(numbers)>::value_type;
      const DType dtype = sizeof(T) == sizeof(double) ? DType::f64 : DType::f32;
      const auto count = static_cast<std::int64_t>(numbers.size());
      return Round{Call::all_reduce(compact_array(numbers.data(), count, dtype), GRADSTEP_REDUCE_SUM, divisor)};
    };
    const auto make_both = [&](const Round& a, const Round& b) {
      const Round* const both[] = {&a, &b};
      ASSERT_EQ(maker.is_gathered(a.call), maker.is_gathered(b.call));
      maker.make(both, comm.deadline());
    };
    auto few = numbers_of<float>(comm.rank(), 501);
    auto doubles = numbers_of<double>(comm.rank(), 77);
    auto many = numbers_of<float>(comm.rank(), 20001);
    auto more = numbers_of<float>(comm.rank(), 30001);
    auto expected_few = few;
    auto expected_doubles = doubles;
    auto expected_many = many;
    auto expected_more = more;
    maker.make(sum(expected_few, 3), comm.deadline());
    maker.make(sum(expected_doubles, 1), comm.deadline());
    maker.make(sum(expected_many, 3), comm.deadline());
    maker.make(sum(expected_more, 3), comm.deadline());
    const std::int64_t before = resources.comm->stats().rounds;
    make_both(sum(few, 3), sum(doubles, 1));
    EXPECT_EQ(resources.comm->stats().rounds - before, 1);
    make_both(sum(many, 3), sum(more, 3));
    EXPECT_EQ(resources.comm->stats().rounds - before, 3);
    EXPECT_EQ(few, expected_few);
    EXPECT_EQ(doubles, expected_doubles);
    EXPECT_EQ(many, expected_many);
    EXPECT_EQ(more, expected_more);
  });
}

/// Expects that sums read numbers at multiples of their size.
class AlignedSums final : public DeferringBackend {
 public:
  using DeferringBackend::DeferringBackend;

  const std::shared_ptr<gradstep::Memory>& memory() const override { return inner().memory(); }
  Queue& queue(void* stream) override { return inner().queue(stream); }
  void sum_ranks(const RankSum& job, Queue& queue) override {
    for (const void* source : job.sources) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(source) % static_cast<std::size_t>(size_of(job.dtype)), 0U);
    }
    ++sums;
    DeferringBackend::sum_ranks(job, queue);
  }

  int sums = 0;

 protected:
  void put_into(Queue& /*queue*/, std::function<void()> work) override { work(); }
};

// The CPU reads them at any address, other devices do not.
TEST(RoundMaker, SumsBehindAnOddCountOfNumbersReadAlignedOnes) {
  run_ranks(kRanks, [](Communicator& comm) {
    ExchangeResources resources = rounds_of(comm);
    AlignedSums backend(resources.backend());
    resources.site = resources.own_lane = Site(backend);
    RoundMaker maker(resources);
    std::vector<float> odd(3, 1);
    std::vector<double> doubles(5, 2);
    const Round rounds[] = {{Call::all_reduce(compact_array(odd.data(), 3, DType::f32), GRADSTEP_REDUCE_SUM, 1)},
                            {Call::all_reduce(compact_array(doubles.data(), 5, DType::f64), GRADSTEP_REDUCE_SUM, 1)}};
    const Round* const both[] = {&rounds[0], &rounds[1]};
    maker.make(both, comm.deadline());
    EXPECT_EQ(backend.sums, 2);
    EXPECT_EQ(odd, std::vector<float>(3, kRanks));
    EXPECT_EQ(doubles, std::vector<double>(5, 2 * kRanks));
  });
}

constexpr std::int64_t kBuckets = 6;
constexpr std::int64_t kHeight = 64;
constexpr std::int64_t kWidth = 48;

struct Made {
  std::int64_t rounds = 0;
  std::int64_t bytes = 0;
  std::int64_t bytes_of_buckets = 0;
};

/// What a window of kBuckets buckets makes, by the slowest rank.
Made make_window(const std::string& engine, const gradstep_reducer_options& options, bool pushed,
                 const std::vector<std::int64_t>& shape = {kHeight, kWidth}) {
  std::vector<Made> made(kRanks);
  run(make_world(engine, kRanks), [&](Communicator& comm) {
    const std::vector<std::vector<std::int64_t>> shapes(kBuckets, shape);
    Reducer reducer(make_context(), comm, options, make_schema(shapes));
    ASSERT_EQ(reducer.layout().buckets().size(), static_cast<std::size_t>(kBuckets));
    std::vector<TestTensor<float>> gradients;
    for (std::uint32_t i = 0; i < kBuckets; ++i) {
      gradients.emplace_back(shape);
      gradients.back().values =
          random_values<float>(gradients.back().values.size(), 10 * i + static_cast<std::uint32_t>(comm.rank()));
    }
    const auto tensors = views_of(gradients);
    const gradstep_comm_statistics before = reducer.comm_stats();
    if (pushed) {
      for (std::size_t i = tensors.size(); i-- > 0;) host::push(reducer, i, tensors[i]);
      host::wait(reducer, nullptr, 0);
    } else {
      host::reduce(reducer, tensors.data(), nullptr, tensors.size(), 1);
    }
    const gradstep_comm_statistics after = reducer.comm_stats();
    Made& own = made[static_cast<std::size_t>(comm.rank())];
    own.rounds = after.rounds - before.rounds;
    own.bytes = after.bytes_sent - before.bytes_sent;
    for (const gradstep_bucket_statistics& bucket : reducer.bucket_stats()) {
      EXPECT_EQ(bucket.exchanges, 1);
      own.bytes_of_buckets += bucket.bytes_sent;
    }
  });
  for (const Made& other : made) EXPECT_EQ(other.rounds, made[0].rounds);
  return made[0];
}

struct Way {
  std::int32_t mode;
  std::int32_t sparse_exchange;
  std::int64_t rounds;  // of one bucket
};

constexpr Way kWays[] = {{GRADSTEP_REDUCER_POWERSGD, 0, 2},
                         {GRADSTEP_REDUCER_SPARSE_TOPK, GRADSTEP_SPARSE_EXCHANGE_GATHER, 1},
                         {GRADSTEP_REDUCER_SPARSE_TOPK, GRADSTEP_SPARSE_EXCHANGE_SPLIT, 4},
                         {GRADSTEP_REDUCER_SPARSE_THRESHOLD, GRADSTEP_SPARSE_EXCHANGE_GATHER, 2}};

gradstep_reducer_options options_of(const Way& way, std::int32_t channels) {
  auto options = mode_options(way.mode);
  options.sparse_exchange = way.sparse_exchange;
  options.channels = channels;
  options.fuse_threshold = 1;
  return options;
}

TEST(CommonRounds, BucketsOfAChannelThatLeaveTogetherOverANetworkMakeTheRoundsOfOne) {
  if (!has_gloo()) GTEST_SKIP() << "no network";
  for (const Way& way : kWays) {
    for (const std::int32_t channels : {1, 2}) {
      SCOPED_TRACE(std::to_string(way.mode) + ", " + std::to_string(channels) + " channels");
      const auto options = options_of(way, channels);
      const Made together = make_window("gloo", options, /*pushed=*/false);
      EXPECT_EQ(together.rounds, way.rounds * channels);
      EXPECT_EQ(together.bytes_of_buckets, together.bytes);
      const Made apart = make_window("gloo", options, /*pushed=*/true);
      EXPECT_EQ(apart.rounds, way.rounds * kBuckets);
      EXPECT_EQ(apart.bytes, together.bytes);
      EXPECT_EQ(apart.bytes_of_buckets, apart.bytes);
    }
  }
}

TEST(CommonRounds, AForecastCountsThem) {
  if (!has_gloo()) GTEST_SKIP() << "no network";
  for (const Way& way : kWays) {
    if (way.mode == GRADSTEP_REDUCER_SPARSE_THRESHOLD) continue;  // depends on gradients
    for (const std::int32_t channels : {1, 4}) {
      for (const std::int32_t control : {0, 1}) {
        auto options = options_of(way, channels);
        options.control = control;
        auto forecast = default_cost_options();
        forecast.elements = kBuckets * kHeight * kWidth;
        forecast.bucket_elements = kHeight * kWidth;
        forecast.rows = kHeight;
        forecast.columns = kWidth;
        forecast.rank = options.rank;
        forecast.sparsity = options.sparsity;
        forecast.ranks = kRanks;
        forecast.bandwidth = 1e9;
        forecast.latency = 1e-3;
        forecast.channels = channels;
        forecast.control_parameters = control * kBuckets;
        const std::vector<gradstep_cost> costs = predict_costs(forecast);
        const auto cost = std::ranges::find_if(costs, [&](const gradstep_cost& one) {
          const bool is_split = way.sparse_exchange == GRADSTEP_SPARSE_EXCHANGE_SPLIT;
          return one.mode == way.mode && (one.algorithm == GRADSTEP_COST_SPARSE_SPLIT) == is_split;
        });
        ASSERT_NE(cost, costs.end());
        EXPECT_EQ(cost->rounds, make_window("gloo", options, /*pushed=*/false).rounds)
            << "mode " << way.mode << ", " << channels << " channels, control " << control;
      }
    }
  }
}

TEST(CommonRounds, WhereNothingWaitsForANetworkEveryBucketLeavesByItself) {
  for (const Way& way : kWays) {
    EXPECT_EQ(make_window("local", options_of(way, 1), /*pushed=*/false).rounds, way.rounds * kBuckets);
  }
}

TEST(CommonRounds, LargeMessagesTravelByThemselves) {
  if (!has_gloo()) GTEST_SKIP() << "no network";
  auto options = options_of(kWays[1], 1);
  options.sparsity = 1;
  EXPECT_EQ(make_window("gloo", options, /*pushed=*/false, {300, 300}).rounds, kBuckets) << "two are 1.4 MB";
  EXPECT_EQ(make_window("gloo", options, /*pushed=*/false, {250, 200}).rounds, kBuckets / 2) << "two are 0.8 MB";
}

TEST(CommonRounds, TheControlSumTravelsWithTheLastBucket) {
  for (const std::string& engine : engines()) {
    if (engine == "host_all") continue;  // sums itself
    for (const Way& way : kWays) {
      if (engine == "host_gather" && way.sparse_exchange == GRADSTEP_SPARSE_EXCHANGE_SPLIT) continue;
      auto options = options_of(way, 1);
      const Made without = make_window(engine, options, /*pushed=*/true);
      options.control = 1;
      EXPECT_EQ(make_window(engine, options, /*pushed=*/true).rounds, without.rounds) << engine << ", " << way.mode;
    }
    auto dense = options_of({GRADSTEP_REDUCER_DENSE, 0, 1}, 1);
    dense.control = 1;
    EXPECT_EQ(make_window(engine, dense, /*pushed=*/true).rounds, kBuckets + 1) << engine;
  }
}

// Weights decide what the gradients are divided by.
TEST(CommonRounds, WindowsByWeightHaveTheBitsOfWindowsThatArePushed) {
  for (const std::string& engine : engines()) {
    for (const std::int32_t mode : {GRADSTEP_REDUCER_POWERSGD, GRADSTEP_REDUCER_SPARSE_TOPK}) {
      run(make_world(engine, kRanks), [&](Communicator& comm) {
        auto options = options_of({mode, 0, 1}, 1);
        options.average = GRADSTEP_AVERAGE_WEIGHTED;
        const Schema schema = make_schema({{30, 20}, {20, 30}});
        Reducer at_once(make_context(), comm, options, schema);
        Reducer pushed(make_context(), comm, options, schema);
        const double weight = 0.3 * comm.rank() + 0.1;
        for (std::uint32_t window = 0; window < 2; ++window) {
          std::vector<TestTensor<float>> values{TestTensor<float>({30, 20}), TestTensor<float>({20, 30})};
          for (auto& tensor : values)
            tensor.values = random_values<float>(600, 10 * window + static_cast<std::uint32_t>(comm.rank()));
          auto others = values;
          const auto tensors = views_of(values);
          const auto other_tensors = views_of(others);
          host::reduce(at_once, tensors.data(), tensors.data(), 2, weight);
          pushed.begin(weight);
          for (const std::size_t i : {1U, 0U}) host::push(pushed, i, other_tensors[i]);
          host::wait(pushed, other_tensors.data(), 2);
          for (const std::size_t i : {0U, 1U}) EXPECT_EQ(values[i].values, others[i].values) << engine;
        }
      });
    }
  }
}

}  // namespace
}  // namespace gradstep::test
