// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Momentum correction, warm-up and EF21, each against its definition in the same arithmetic.
#include <algorithm>
#include <numeric>

#include "unit/memory_stream.h"
#include "unit/reduce/world_reduce.h"

namespace gradstep::test {
namespace {

using Values = std::vector<float>;

gradstep_reducer_options topk(double sparsity) {
  auto options = mode_options(GRADSTEP_REDUCER_SPARSE_TOPK);
  options.sparsity = sparsity;
  options.average = GRADSTEP_AVERAGE_SUM;
  return options;
}

std::vector<std::size_t> largest(const Values& u, std::size_t count) {
  std::vector<std::size_t> order(u.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return std::abs(u[a]) > std::abs(u[b]); });
  order.resize(count);
  return order;
}

Values reduce_one(Reducer& reducer, const Values& values) {
  TestTensor<float> g({static_cast<std::int64_t>(values.size())}, values);
  const gradstep_tensor tensor = g.tensor();
  host::reduce(reducer, &tensor, &tensor, 1, 1);
  return g.values;
}

Values gradient(std::int32_t rank, std::uint32_t window, std::size_t size = 500) {
  return random_values<float>(size, static_cast<std::uint32_t>(rank) * 50 + window);
}

TEST(MomentumCorrection, IsLocalMomentumWithMaskedFactors) {
  constexpr std::uint32_t kWindows = 5;
  constexpr std::size_t kSize = 500;
  std::vector<Values> expected;
  std::vector<Values> velocity(2, Values(kSize, 0));
  std::vector<Values> accumulated(2, Values(kSize, 0));
  for (std::uint32_t w = 0; w < kWindows; ++w) {
    Values sum(kSize, 0);
    for (std::int32_t r = 0; r < 2; ++r) {
      Values& v = velocity[static_cast<std::size_t>(r)];
      Values& u = accumulated[static_cast<std::size_t>(r)];
      const Values g = gradient(r, w);
      for (std::size_t i = 0; i < kSize; ++i) {
        v[i] = g[i] + 0.9F * v[i];
        u[i] += v[i];
      }
      for (const std::size_t i : largest(u, 25)) {
        sum[i] += u[i];
        u[i] = v[i] = 0;
      }
    }
    expected.push_back(sum);
  }
  run_ranks(2, [&](Communicator& comm) {
    auto options = topk(0.05);
    options.momentum_correction = 0.9;
    Reducer reducer(make_context(), comm, options, make_schema({{kSize}}));
    for (std::uint32_t w = 0; w < kWindows; ++w) {
      ASSERT_EQ(reduce_one(reducer, gradient(comm.rank(), w)), expected[w]) << "window " << w;
    }
    const auto* kept = static_cast<const float*>(reducer.memory().residual(0).data);
    EXPECT_EQ(Values(kept, kept + kSize), accumulated[static_cast<std::size_t>(comm.rank())]);
  });
}

// Deep Gradient Compression's warm-up: 25 %, 6.25 %, 1.5625 %, 0.4 %, then 0.1 %.
TEST(WarmUp, TheFractionFallsGeometrically) {
  run_ranks(1, [](Communicator& comm) {
    auto options = topk(1.0 / 1024);
    options.warmup_steps = 4;
    Reducer reducer(make_context(), comm, options, make_schema({{1024 * 16}}));
    std::int64_t before = 0;
    std::vector<std::int64_t> sent;
    for (std::uint32_t w = 0; w < 6; ++w) {
      reduce_one(reducer, gradient(0, w, 1024 * 16));
      sent.push_back(reducer.bucket_stats()[0].selected - before);
      before = reducer.bucket_stats()[0].selected;
    }
    // The power is rounded, and what is above an integer by that is rounded up.
    const std::int64_t expected[] = {4096, 1024, 256, 64, 16, 16};
    for (std::size_t w = 0; w < 6; ++w) EXPECT_NEAR(static_cast<double>(sent[w]), static_cast<double>(expected[w]), 1);
  });
}

TEST(Ef21, TheResultIsTheSumOfTheEstimatesThatAllRanksKnow) {
  constexpr std::uint32_t kWindows = 5;
  constexpr std::size_t kSize = 500;
  std::vector<Values> expected;
  std::vector<Values> estimates(3, Values(kSize, 0));
  Values total(kSize, 0);
  for (std::uint32_t w = 0; w < kWindows; ++w) {
    Values change(kSize, 0);
    for (std::int32_t r = 0; r < 3; ++r) {
      Values& h = estimates[static_cast<std::size_t>(r)];
      Values u = gradient(r, w);
      for (std::size_t i = 0; i < kSize; ++i) u[i] -= h[i];
      for (const std::size_t i : largest(u, 50)) {
        h[i] += u[i];
        change[i] += u[i];
      }
    }
    for (std::size_t i = 0; i < kSize; ++i) total[i] += change[i];
    expected.push_back(total);
    for (float& x : expected.back()) x /= 3;
  }
  for (const std::int32_t exchange : {GRADSTEP_SPARSE_EXCHANGE_GATHER, GRADSTEP_SPARSE_EXCHANGE_SPLIT}) {
    run_ranks(3, [&](Communicator& comm) {
      auto options = topk(0.1);
      options.average = GRADSTEP_AVERAGE_MEAN;
      options.error_feedback = GRADSTEP_ERROR_FEEDBACK_EF21;
      options.sparse_exchange = exchange;
      Reducer reducer(make_context(), comm, options, make_schema({{kSize}}));
      for (std::uint32_t w = 0; w < kWindows; ++w) {
        ASSERT_EQ(reduce_one(reducer, gradient(comm.rank(), w)), expected[w]) << "window " << w;
      }
    });
  }
}

// A constant gradient is known to all ranks after as many windows as it takes to send it once.
TEST(Ef21, EstimatesOfAConstantGradientBecomeExact) {
  run_ranks(2, [](Communicator& comm) {
    auto options = topk(0.25);
    options.error_feedback = GRADSTEP_ERROR_FEEDBACK_EF21;
    Reducer reducer(make_context(), comm, options, make_schema({{8}}));
    const Values g = {8, -7, 6, -5, 4, -3, 2, -1};
    for (int w = 0; w < 3; ++w) EXPECT_NE(reduce_one(reducer, g)[7], -2);
    EXPECT_EQ(reduce_one(reducer, g), (Values{16, -14, 12, -10, 8, -6, 4, -2}));
  });
}

TEST(SparseOptions, WhatTheyKeepIsSavedAndGoesOnWithTheSameBits) {
  for (const bool ef21 : {false, true}) {
    run_ranks(2, [&](Communicator& comm) {
      auto options = topk(0.1);
      if (ef21) {
        options.error_feedback = GRADSTEP_ERROR_FEEDBACK_EF21;
      } else {
        options.momentum_correction = 0.5;
        options.warmup_steps = 4;
      }
      const Schema schema = make_schema({{500}});
      Reducer whole(make_context(), comm, options, schema);
      for (std::uint32_t w = 0; w < 2; ++w) reduce_one(whole, gradient(comm.rank(), w));
      const std::string bytes = saved_bytes("reducer", {{"", whole.saved().save()}});
      Reducer resumed(make_context(), comm, options, schema);
      const StateFile file = read_bytes(bytes);
      LoadedPart part(file, "");
      resumed.saved().load(part)();
      for (std::uint32_t w = 2; w < 6; ++w) {
        EXPECT_EQ(reduce_one(whole, gradient(comm.rank(), w)), reduce_one(resumed, gradient(comm.rank(), w)));
      }
    });
  }
}

// All ranks send as much as the number of the window says; 4 and 3 of these take the same bytes.
TEST(SparseOptions, RanksThatAreNotInTheSameWindowAreTold) {
  run_ranks(2, [](Communicator& comm) {
    auto options = topk(0.6);
    options.warmup_steps = 1;
    const Schema schema = make_schema({{4}});
    Reducer reducer(make_context(), comm, options, schema);
    if (comm.rank() == 1) {
      const auto alone = make_local_communicators(make_context(), 1, {});
      Reducer ahead(make_context(), *alone[0], options, schema);
      reduce_one(ahead, {1, 2, 3, 4});
      reducer.take_over(ahead);
    }
    expect_error(GRADSTEP_ERR_MISMATCH,
                 comm.rank() == 0 ? "rank 1 has selected 3 elements, this rank 4" : "this rank 3",
                 [&] { reduce_one(reducer, {1, 2, 3, 4}); });
  });
}

TEST(SparseOptions, CombinationsThatMeanNothingAreRefused) {
  run_ranks(1, [](Communicator& comm) {
    const auto refuse = [&](const char* text, const std::function<void(gradstep_reducer_options&)>& change) {
      auto options = topk(0.1);
      change(options);
      expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, text,
                   [&] { Reducer(make_context(), comm, options, make_schema({{4}})); });
    };
    refuse("options.momentum_correction: is 1,", [](auto& o) { o.momentum_correction = 1; });
    refuse("options.momentum_correction: needs options.residual = 1", [](auto& o) {
      o.momentum_correction = 0.5;
      o.residual = 0;
    });
    refuse("options.momentum_correction: expected mode 4", [](auto& o) {
      o.momentum_correction = 0.5;
      o.mode = GRADSTEP_REDUCER_SPARSE_THRESHOLD;
    });
    refuse("options.warmup_steps: is -1", [](auto& o) { o.warmup_steps = -1; });
    refuse("options.error_feedback: is 2", [](auto& o) { o.error_feedback = 2; });
    refuse("options.average: is weighted", [](auto& o) {
      o.error_feedback = GRADSTEP_ERROR_FEEDBACK_EF21;
      o.average = GRADSTEP_AVERAGE_WEIGHTED;
    });
    refuse("options.momentum_correction: is 0.5, expected 0", [](auto& o) {
      o.error_feedback = GRADSTEP_ERROR_FEEDBACK_EF21;
      o.momentum_correction = 0.5;
    });
  });
}

}  // namespace
}  // namespace gradstep::test
