// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Overlapped windows on every engine: the bits of windows that are not, beside everything else that uses the same
// communicator, and nothing left behind.
#include <algorithm>
#include <cstring>
#include <limits>
#include <random>

#include "optim/first_order/first_order_optimizer.h"
#include "optim/first_order/typed_options.h"
#include "reduce/reducer_options.h"
#include "tests/threads_left.h"
#include "unit/reduce/reducer_fixture.h"
#include "unit/reduce/world_reduce.h"

namespace gradstep::test {
namespace {

const std::vector<std::vector<std::int64_t>> kShapes = {{40, 30}, {17}, {900, 40}, {}, {0, 2}, {2000}, {64, 70}};
constexpr int kWindows = 3;

std::vector<TestTensor<float>> gradients_of(std::int32_t rank, int window) {
  std::vector<TestTensor<float>> list;
  for (std::size_t i = 0; i < kShapes.size(); ++i) {
    list.emplace_back(kShapes[i]);
    const auto seed = 1000 * rank + 100 * window + static_cast<int>(i);
    list.back().values = random_values<float>(list.back().values.size(), static_cast<std::uint32_t>(seed));
  }
  return list;
}

gradstep_reducer_options windows_of(std::int32_t mode) {
  auto options = mode_options(mode);
  options.fuse_threshold = 1500;
  if (mode == GRADSTEP_REDUCER_SPARSE_THRESHOLD) options.sparsity = 1.5;
  return options;
}

/// Some windows; what comes out, and the residuals, one after the other. pushed: in an order that only this rank has.
std::vector<float> run_windows(Communicator& comm, const gradstep_reducer_options& options, bool pushed) {
  Reducer reducer(make_context(), comm, options, make_schema(kShapes));
  std::vector<float> all;
  std::mt19937 random(static_cast<std::uint32_t>(comm.rank()));
  for (int window = 0; window < kWindows; ++window) {
    auto values = gradients_of(comm.rank(), window);
    const auto tensors = views_of(values);
    if (pushed) {
      std::vector<std::size_t> order;
      for (std::size_t i = kShapes.size(); i-- > 0;) order.push_back(i);
      if (comm.rank() > 0) std::shuffle(order.begin(), order.end(), random);
      for (const std::size_t i : order) host::push(reducer, i, tensors[i]);
      host::wait(reducer, tensors.data(), tensors.size());
    } else {
      host::reduce(reducer, tensors.data(), tensors.data(), tensors.size(), 1);
    }
    for (const auto& tensor : values) all.insert(all.end(), tensor.values.begin(), tensor.values.end());
  }
  const bool keeps = options.mode == GRADSTEP_REDUCER_SPARSE_TOPK ||
                     options.mode == GRADSTEP_REDUCER_SPARSE_THRESHOLD || options.mode == GRADSTEP_REDUCER_POWERSGD ||
                     is_coded(options.mode);
  for (std::size_t i = 0; keeps && i < kShapes.size(); ++i) {
    const auto* numbers = static_cast<const float*>(reducer.memory().residual(i).data);
    all.insert(all.end(), numbers, numbers + reducer.schema()[i].size);
  }
  return all;
}

class OverlapModes : public testing::TestWithParam<std::int32_t> {};

TEST_P(OverlapModes, TheBitsAreThoseOfWindowsReducedAtOnce) {
  const auto options = windows_of(GetParam());
  for (const std::int32_t ranks : {1, 2, 3}) {
    std::vector<std::vector<float>> expected(static_cast<std::size_t>(ranks));
    run(make_world("local", ranks), [&](Communicator& comm) {
      expected[static_cast<std::size_t>(comm.rank())] = run_windows(comm, options, /*pushed=*/false);
    });
    for (const std::string& engine : engines()) {
      run(make_world(engine, ranks), [&](Communicator& comm) {
        for (const std::int32_t channels : {1, 3}) {
          for (const bool pushed : {true, false}) {
            auto overlapped = options;
            overlapped.channels = channels;
            const std::vector<float> got = run_windows(comm, overlapped, pushed);
            const auto& want = expected[static_cast<std::size_t>(comm.rank())];
            ASSERT_EQ(got.size(), want.size());
            EXPECT_EQ(std::memcmp(got.data(), want.data(), got.size() * sizeof(float)), 0)
                << engine << ", rank " << comm.rank() << " of " << ranks << ", " << channels << " channels, "
                << (pushed ? "pushed" : "at once");
          }
        }
      });
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, OverlapModes,
                         testing::Values(GRADSTEP_REDUCER_DENSE, GRADSTEP_REDUCER_HALF, GRADSTEP_REDUCER_BFLOAT16,
                                         GRADSTEP_REDUCER_SPARSE_THRESHOLD, GRADSTEP_REDUCER_SPARSE_TOPK,
                                         GRADSTEP_REDUCER_ADASUM_TREE, GRADSTEP_REDUCER_ADASUM_NWAY,
                                         GRADSTEP_REDUCER_POWERSGD, GRADSTEP_REDUCER_INT8, GRADSTEP_REDUCER_INT4,
                                         GRADSTEP_REDUCER_FP8_E4M3, GRADSTEP_REDUCER_FP8_E5M2),
                         [](const auto& test) { return "mode_" + std::to_string(test.param); });

class OverlapWorlds : public testing::TestWithParam<std::string> {};

// Every rank pushes in an order of its own, to both reducers in turn, with the host's collectives and a sharded step in
// between: what overlaps has a channel of its own, so no order of the ranks' threads can make one wait for another.
TEST_P(OverlapWorlds, TwoReducersAShardedStepAndTheHostsCollectivesShareACommunicator) {
  const Schema schema = make_schema(kShapes);
  auto first = windows_of(GRADSTEP_REDUCER_DENSE);
  auto second = windows_of(GRADSTEP_REDUCER_SPARSE_TOPK);
  run(make_world(GetParam(), 3), [&](Communicator& comm) {
    const auto context = make_context();
    Reducer a(context, comm, first, schema);
    Reducer b(context, comm, second, schema);
    Reducer whole_a(context, comm, first, schema);
    Reducer whole_b(context, comm, second, schema);
    auto adam = default_options<gradstep_adam_options>();
    adam.learning_rate = 0.01;
    FirstOrderOptimizer optimizer(context, make_rule(adam), schema);
    optimizer.attach(&comm, gradstep_sharding_options{});
    auto params = gradients_of(0, 99);
    const auto param_tensors = views_of(params);
    std::mt19937 random(static_cast<std::uint32_t>(comm.rank()));
    for (int window = 0; window < 10; ++window) {
      auto values = gradients_of(comm.rank(), window);
      auto out_a = values;
      auto out_b = values;
      auto expected_a = values;
      auto expected_b = values;
      const auto tensors = views_of(values);
      std::vector<std::pair<Reducer*, std::size_t>> pushes;
      for (std::size_t i = 0; i < kShapes.size(); ++i) {
        pushes.emplace_back(&a, i);
        pushes.emplace_back(&b, i);
      }
      std::shuffle(pushes.begin(), pushes.end(), random);
      const std::size_t part = pushes.size() / 3;
      for (std::size_t k = 0; k < part; ++k) host::push(*pushes[k].first, pushes[k].second, tensors[pushes[k].second]);
      double sum = 1;
      comm.all_reduce({&sum, 1, DType::f64, 0, nullptr, nullptr}, GRADSTEP_REDUCE_SUM, 1, comm.deadline());
      EXPECT_EQ(sum, 3);
      for (std::size_t k = part; k < 2 * part; ++k)
        host::push(*pushes[k].first, pushes[k].second, tensors[pushes[k].second]);
      EXPECT_TRUE(
          host::step(optimizer, param_tensors.data(), tensors.data(), nullptr, tensors.size(), StepGuards{}).applied);
      for (std::size_t k = 2 * part; k < pushes.size(); ++k) {
        host::push(*pushes[k].first, pushes[k].second, tensors[pushes[k].second]);
      }
      EXPECT_TRUE(comm.vote(true, comm.deadline()));
      // Nothing is left to wait: each rank may do it in an order of its own.
      Reducer& sooner = comm.rank() == 1 ? b : a;
      Reducer& later = comm.rank() == 1 ? a : b;
      const auto wait = [&](Reducer& reducer) {
        const auto views = views_of(&reducer == &a ? out_a : out_b);
        host::wait(reducer, views.data(), views.size());
      };
      wait(sooner);
      wait(later);
      host::reduce(whole_a, tensors.data(), views_of(expected_a).data(), tensors.size(), 1);
      host::reduce(whole_b, tensors.data(), views_of(expected_b).data(), tensors.size(), 1);
      for (std::size_t i = 0; i < kShapes.size(); ++i) {
        EXPECT_EQ(out_a[i].values, expected_a[i].values);
        EXPECT_EQ(out_b[i].values, expected_b[i].values);
      }
    }
  });
}

#if defined(__linux__)  // whose /proc says how many there are
TEST_P(OverlapWorlds, WindowsThatAreDroppedLeaveNoThreadAndNoDescriptor) {
  const World world = make_world(GetParam(), 2);
  const auto cycle = [&](int count) {
    run(world, [&](Communicator& comm) {
      TestTensor<float> g({300});
      const gradstep_tensor tensor = g.tensor();
      for (int i = 0; i < count; ++i) {
        Reducer reducer(make_context(), comm, windows_of(GRADSTEP_REDUCER_DENSE), make_schema({{300}, {300}}));
        host::push(reducer, 1, tensor);
        if (i % 3 == 0) reducer.cancel();
        if (i % 3 == 1) continue;  // destroyed in the open window
        if (i % 3 == 2) host::wait(reducer, nullptr, 0);
      }
    });
  };
  cycle(3);
  const std::ptrdiff_t threads = threads_left(0);  // a second later
  const std::ptrdiff_t descriptors = directory_entries("/proc/self/fd");
  cycle(100);
  EXPECT_EQ(threads_left(threads), threads);
  EXPECT_EQ(directory_entries("/proc/self/fd"), descriptors);
}
#endif

TEST_P(OverlapWorlds, SeveralChannelsCarryOneBucketEach) {
  run(make_world(GetParam(), 3), [&](Communicator& comm) {
    auto options = windows_of(GRADSTEP_REDUCER_DENSE);
    options.channels = 16;
    Reducer reducer(make_context(), comm, options, make_schema(kShapes));
    const std::int64_t before = reducer.comm_stats().all_reduces;
    auto values = gradients_of(comm.rank(), 0);
    const auto tensors = views_of(values);
    host::reduce(reducer, tensors.data(), tensors.data(), tensors.size(), 1);
    const auto buckets = static_cast<std::int64_t>(reducer.layout().buckets().size());
    ASSERT_GT(buckets, 3);
    EXPECT_EQ(reducer.comm_stats().all_reduces - before, buckets);
    EXPECT_EQ(reducer.comm().stats().all_reduces, 1);
  });
}

TEST_P(OverlapWorlds, AWindowThatFailsOnAllRanksLeavesAllChannelsWhole) {
  run(make_world(GetParam(), 3), [&](Communicator& comm) {
    auto options = windows_of(GRADSTEP_REDUCER_SPARSE_TOPK);
    options.sparsity = 0.5;
    const Schema schema = make_schema(kShapes);
    Reducer expected(make_context(), comm, options, schema);
    options.channels = 3;
    Reducer reducer(make_context(), comm, options, schema);
    for (int window = 0; window < 6; ++window) {
      auto values = gradients_of(comm.rank(), window);
      auto outcome = values;
      const auto tensors = views_of(values);
      const auto results = views_of(outcome);
      // A NaN in one bucket after the other, on one rank after the other.
      if (window % 2 == 1) {
        const std::size_t parameter = window == 1 ? 0 : window == 3 ? 2 : 6;
        float& number = values[parameter].values[5];
        const float whole = number;
        if (comm.rank() == window / 2) number = std::numeric_limits<float>::quiet_NaN();
        expect_error(GRADSTEP_ERR_NUMERIC, "NaN", [&] {
          for (std::size_t i = kShapes.size(); i-- > 0;) host::push(reducer, i, tensors[i]);
          host::wait(reducer, results.data(), results.size());
        });
        expect_error(GRADSTEP_ERR_NUMERIC, "NaN",
                     [&] { host::reduce(reducer, tensors.data(), results.data(), results.size(), 1); });
        number = whole;
        for (std::size_t i = 0; i < kShapes.size(); ++i) ASSERT_EQ(outcome[i].values, values[i].values);
      }
      host::reduce(reducer, tensors.data(), results.data(), results.size(), 1);
      host::reduce(expected, tensors.data(), tensors.data(), tensors.size(), 1);
      for (std::size_t i = 0; i < kShapes.size(); ++i) ASSERT_EQ(outcome[i].values, values[i].values) << window;
    }
  });
}

TEST_P(OverlapWorlds, AnAbortEndsAllChannels) {
  for (const std::int32_t mode : {GRADSTEP_REDUCER_DENSE, GRADSTEP_REDUCER_SPARSE_TOPK, GRADSTEP_REDUCER_POWERSGD}) {
    const World world = make_world(GetParam(), 3);
    const std::vector<Outcome> outcomes = run_outcomes(world, [&](Communicator& comm) {
      auto options = windows_of(mode);
      options.channels = 4;
      Reducer reducer(make_context(), comm, options, make_schema(kShapes));
      auto values = gradients_of(comm.rank(), 0);
      const auto tensors = views_of(values);
      if (comm.rank() == 1) {
        host::push(reducer, 6, tensors[6]);
        reducer.cancel();
        fail(GRADSTEP_ERR_ABORTED, "by this test");
      }
      host::reduce(reducer, tensors.data(), tensors.data(), tensors.size(), 1);
    });
    for (const Outcome& outcome : outcomes) {
      EXPECT_TRUE(outcome.status == GRADSTEP_ERR_ABORTED || outcome.status == GRADSTEP_ERR_PEER_LOST) << outcome.text;
    }
  }
}

std::vector<std::string> engines_with_channels() {
  std::vector<std::string> names = engines();
  std::erase_if(names, [](const std::string& name) {
    return name != "local" && name != "shm" && name != "gloo" && name != "host_all";
  });
  return names;
}

INSTANTIATE_TEST_SUITE_P(Engines, OverlapWorlds, testing::ValuesIn(engines_with_channels()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace gradstep::test
