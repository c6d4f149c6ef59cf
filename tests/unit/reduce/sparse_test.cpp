// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Sparse modes against their definition, element by element and bit by bit, over several windows; and one test for each
// defect of the implementation that they come from.
#include <algorithm>
#include <limits>
#include <numeric>

#include "unit/reduce/world_reduce.h"

namespace gradstep::test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

gradstep_reducer_options sparse_options(std::int32_t mode, double sparsity) {
  auto options = mode_options(mode);
  options.sparsity = sparsity;
  options.average = GRADSTEP_AVERAGE_SUM;
  return options;
}

using Values = std::vector<float>;

/// Zeroes what is selected from u, and returns it, zero elsewhere.
Values take_selected(Values& u, std::size_t begin, std::size_t size, const gradstep_reducer_options& options) {
  std::vector<std::size_t> order(size);
  std::iota(order.begin(), order.end(), begin);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return std::abs(u[a]) > std::abs(u[b]); });
  if (options.mode == GRADSTEP_REDUCER_SPARSE_TOPK) {
    order.resize(std::min(size, static_cast<std::size_t>(std::ceil(options.sparsity * static_cast<double>(size)))));
  } else {
    std::erase_if(order,
                  [&](std::size_t i) { return std::abs(u[i]) < static_cast<float>(options.sparsity) || u[i] == 0; });
  }
  Values sent(u.size(), 0);
  for (const std::size_t i : order) std::swap(sent[i], u[i]);
  return sent;
}

/// One bucket of two parameters (packed in reverse order) over several windows, by definition.
class Definition {
 public:
  Definition(std::size_t ranks, std::size_t first, std::size_t second, const gradstep_reducer_options& options)
      : residuals(ranks, Values(first + second, 0)), first_(first), second_(second), options_(options) {}

  /// gradients[r]: the second parameter, then the first.
  Values window(const std::vector<Values>& gradients) {
    Values sum(first_ + second_, 0);
    for (std::size_t r = 0; r < gradients.size(); ++r) {
      Values u = gradients[r];
      for (std::size_t i = 0; i < u.size(); ++i) u[i] += residuals[r][i];
      Values sent;
      if (options_.selection == GRADSTEP_SELECTION_BUCKET) {
        sent = take_selected(u, 0, u.size(), options_);
      } else {
        sent = take_selected(u, 0, second_, options_);
        const Values rest = take_selected(u, second_, first_, options_);
        for (std::size_t i = second_; i < u.size(); ++i) sent[i] = rest[i];
      }
      for (std::size_t i = 0; i < u.size(); ++i) sum[i] += sent[i];
      if (options_.residual != 0) residuals[r] = u;
    }
    if (options_.average == GRADSTEP_AVERAGE_MEAN) {
      for (float& x : sum) x /= static_cast<float>(gradients.size());
    }
    return sum;
  }

  std::vector<Values> residuals;

 private:
  std::size_t first_;
  std::size_t second_;
  gradstep_reducer_options options_;
};

/// The gradients of a window: some in common, so that selections overlap; coarse, so that there are ties.
Values gradient(std::size_t size, std::size_t rank, std::uint32_t window) {
  Values values = random_values<float>(size, 7 * window);
  const Values own = random_values<float>(size, static_cast<std::uint32_t>(100 + 10 * rank + window));
  for (std::size_t i = 0; i < size; ++i) values[i] = std::round(8 * (values[i] + 0.3F * own[i])) / 8;
  return values;
}

void compare_with_definition(const World& world, const gradstep_reducer_options& options, std::size_t first,
                             std::size_t second) {
  constexpr std::uint32_t kWindows = 4;
  std::vector<Values> expected;
  std::vector<std::vector<Values>> residuals;
  Definition definition(world.size(), first, second, options);
  for (std::uint32_t w = 0; w < kWindows; ++w) {
    std::vector<Values> gradients;
    for (std::size_t r = 0; r < world.size(); ++r) gradients.push_back(gradient(first + second, r, w));
    expected.push_back(definition.window(gradients));
    residuals.push_back(definition.residuals);
  }
  const auto a = static_cast<std::int64_t>(first);
  const auto b = static_cast<std::int64_t>(second);
  run(world, [&](Communicator& comm) {
    const auto rank = static_cast<std::size_t>(comm.rank());
    Reducer reducer(make_context(2), comm, options, make_schema({{a}, {b}}));
    ASSERT_EQ(reducer.bucket_stats().size(), 1U);
    for (std::uint32_t w = 0; w < kWindows; ++w) {
      const Values packed = gradient(first + second, rank, w);
      TestTensor<float> g0({a}, Values(packed.begin() + b, packed.end()));
      TestTensor<float> g1({b}, Values(packed.begin(), packed.begin() + b));
      const gradstep_tensor views[] = {g0.tensor(), g1.tensor()};
      host::reduce(reducer, views, views, 2, 1);
      Values found = g1.values;
      found.insert(found.end(), g0.values.begin(), g0.values.end());
      ASSERT_EQ(found, expected[w]) << "window " << w;
      if (options.residual == 0) continue;
      const auto* r0 = static_cast<const float*>(reducer.memory().residual(0).data);
      const auto* r1 = static_cast<const float*>(reducer.memory().residual(1).data);
      Values kept(r1, r1 + b);
      kept.insert(kept.end(), r0, r0 + a);
      ASSERT_EQ(kept, residuals[w][rank]) << "residual after window " << w;
    }
  });
}

class SparseOnEngines : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Engines, SparseOnEngines, testing::ValuesIn(engines()),
                         [](const auto& test) { return test.param; });

TEST_P(SparseOnEngines, EveryWindowIsTheDefinitionBitByBit) {
  for (const std::int32_t ranks : {2, 3}) {
    const World world = make_world(GetParam(), ranks);
    for (const std::int32_t exchange : {GRADSTEP_SPARSE_EXCHANGE_GATHER, GRADSTEP_SPARSE_EXCHANGE_SPLIT}) {
      for (const std::int32_t residual : {0, 1}) {
        for (const auto& [mode, sparsity] :
             {std::pair{GRADSTEP_REDUCER_SPARSE_TOPK, 0.05}, std::pair{GRADSTEP_REDUCER_SPARSE_THRESHOLD, 2.0}}) {
          auto options = sparse_options(mode, sparsity);
          options.residual = residual;
          options.sparse_exchange = exchange;
          options.average = residual != 0 ? GRADSTEP_AVERAGE_MEAN : GRADSTEP_AVERAGE_SUM;
          options.selection = residual != 0 ? GRADSTEP_SELECTION_BUCKET : GRADSTEP_SELECTION_TENSOR;
          compare_with_definition(world, options, 700, 33);
        }
      }
    }
  }
}

TEST(Sparse, BitsAreThoseOfTheDefinitionForLargeBucketsAndManyRanks) {
  for (const std::int32_t ranks : {1, 5}) {
    for (const std::int32_t selection : {GRADSTEP_SELECTION_BUCKET, GRADSTEP_SELECTION_TENSOR}) {
      auto options = sparse_options(GRADSTEP_REDUCER_SPARSE_TOPK, 0.03);
      options.selection = selection;
      compare_with_definition(make_world("local", ranks), options, 40000, 50001);
    }
  }
}

TEST(Sparse, EmptyAndFullSelectionsAreLegal) {
  for (const std::int32_t exchange : {GRADSTEP_SPARSE_EXCHANGE_GATHER, GRADSTEP_SPARSE_EXCHANGE_SPLIT}) {
    auto options = sparse_options(GRADSTEP_REDUCER_SPARSE_THRESHOLD, 1e9);
    options.sparse_exchange = exchange;
    compare_with_definition(make_world("local", 3), options, 100, 20);
    options.sparsity = 0;
    compare_with_definition(make_world("local", 3), options, 100, 20);
    options = sparse_options(GRADSTEP_REDUCER_SPARSE_TOPK, 1);
    options.sparse_exchange = exchange;
    compare_with_definition(make_world("local", 3), options, 100, 20);
  }
}

/// One parameter, one window.
Values reduce_one(Reducer& reducer, const Values& values) {
  TestTensor<float> g({static_cast<std::int64_t>(values.size())}, values);
  const gradstep_tensor tensor = g.tensor();
  host::reduce(reducer, &tensor, &tensor, 1, 1);
  return g.values;
}

Values residual_of(Reducer& reducer) {
  const Array view = reducer.memory().residual(0);
  const auto* data = static_cast<const float*>(view.data);
  return Values(data, data + view.size);
}

TEST(Sparse, OnlyOneRankSelectsAnything) {
  run_ranks(3, [](Communicator& comm) {
    for (const std::int32_t exchange : {GRADSTEP_SPARSE_EXCHANGE_GATHER, GRADSTEP_SPARSE_EXCHANGE_SPLIT}) {
      auto options = sparse_options(GRADSTEP_REDUCER_SPARSE_THRESHOLD, 5);
      options.sparse_exchange = exchange;
      Reducer reducer(make_context(), comm, options, make_schema({{4}}));
      const float scale = comm.rank() == 1 ? 10 : 1;
      EXPECT_EQ(reduce_one(reducer, {scale, 0, -scale, 0}), (Values{10, 0, -10, 0}));
    }
  });
}

TEST(Sparse, WhatIsSentAndWhatIsKeptAreTheGradientAndTheOldResidualExactly) {
  run_ranks(1, [](Communicator& comm) {
    for (const auto& [mode, sparsity] :
         {std::pair{GRADSTEP_REDUCER_SPARSE_TOPK, 0.01}, std::pair{GRADSTEP_REDUCER_SPARSE_THRESHOLD, 1.5}}) {
      constexpr std::size_t kSize = 300000;
      Reducer reducer(make_context(2), comm, sparse_options(mode, sparsity), make_schema({{kSize}}));
      Values old(kSize, 0);
      for (std::uint32_t window = 0; window < 5; ++window) {
        const Values g = random_values<float>(kSize, window);
        const Values sent = reduce_one(reducer, g);
        const Values kept = residual_of(reducer);
        for (std::size_t i = 0; i < kSize; ++i) {
          ASSERT_TRUE(sent[i] == 0 || kept[i] == 0) << i;
          ASSERT_EQ(sent[i] + kept[i], g[i] + old[i]) << i;
        }
        old = kept;
      }
    }
  });
}

TEST(Sparse, RanksChooseTheSplitWhenTheirSelectionsOverlap) {
  constexpr std::int64_t kSize = 200000;
  run_ranks(4, [](Communicator& comm) {
    Reducer reducer(make_context(), comm, sparse_options(GRADSTEP_REDUCER_SPARSE_TOPK, 0.2), make_schema({{kSize}}));
    const Values common = random_values<float>(kSize, 1);
    const Values own = random_values<float>(kSize, 2 + static_cast<std::uint32_t>(comm.rank()));
    reduce_one(reducer, common);
    EXPECT_EQ(reducer.bucket_stats()[0].algorithm, GRADSTEP_EXCHANGE_SPARSE_GATHER);
    const std::int64_t gathered = reducer.bucket_stats()[0].bytes_sent;
    reduce_one(reducer, common);
    EXPECT_EQ(reducer.bucket_stats()[0].algorithm, GRADSTEP_EXCHANGE_SPARSE_SPLIT);
    EXPECT_LT(reducer.bucket_stats()[0].bytes_sent - gathered, gathered);
    EXPECT_EQ(reducer.bucket_stats()[0].selected, 2 * kSize / 5);
  });
}

TEST(Sparse, DoublesAndHalvesAreSelectedToo) {
  std::vector<Tensors<double>> gradients(2);
  for (auto& g : gradients) g.emplace_back(std::vector<std::int64_t>{5}, std::vector<double>{1, -1e-30, 3, 0, -2});
  auto options = sparse_options(GRADSTEP_REDUCER_SPARSE_TOPK, 0.4);
  for (const std::int32_t exchange : {GRADSTEP_SPARSE_EXCHANGE_GATHER, GRADSTEP_SPARSE_EXCHANGE_SPLIT}) {
    options.sparse_exchange = exchange;
    EXPECT_EQ(reduce_world(make_world("local", 2), options, gradients)[0].values,
              (std::vector<double>{0, 0, 6, 0, -4}));
  }
}

// Defect: what lies behind the compacted entries was counted and sent a second time.
TEST(SparseDefects, NoEntryIsSentTwice) {
  run_ranks(2, [](Communicator& comm) {
    Reducer reducer(make_context(), comm, sparse_options(GRADSTEP_REDUCER_SPARSE_THRESHOLD, 1), make_schema({{6}}));
    EXPECT_EQ(reduce_one(reducer, {0, 0, 5, 7, 0, 9}), (Values{0, 0, 10, 14, 0, 18}));
    EXPECT_EQ(reducer.bucket_stats()[0].selected, 3);
  });
}

// Defect: magnitudes were truncated to integers, so that all below one were equal.
TEST(SparseDefects, SmallMagnitudesAreRanked) {
  run_ranks(1, [](Communicator& comm) {
    Reducer reducer(make_context(), comm, sparse_options(GRADSTEP_REDUCER_SPARSE_TOPK, 0.25), make_schema({{4}}));
    EXPECT_EQ(reduce_one(reducer, {0.1F, -0.4F, 0.3F, 0.2F}), (Values{0, -0.4F, 0, 0}));
  });
}

// Defect: a NaN was never selected, and stayed in the residual for good.
TEST(SparseDefects, ANanNeverStaysInTheResidual) {
  for (const auto& selection :
       {std::pair{GRADSTEP_REDUCER_SPARSE_TOPK, 0.25}, std::pair{GRADSTEP_REDUCER_SPARSE_THRESHOLD, 2.0}}) {
    run_ranks(2, [mode = selection.first, sparsity = selection.second](Communicator& comm) {
      const Values clean = {4, 0.5F, 0.5F, 0.5F};
      const Values broken = comm.rank() == 1 ? Values{4, kNan, 0.5F, 0.5F} : clean;
      auto options = sparse_options(mode, sparsity);

      Reducer strict(make_context(), comm, options, make_schema({{4}}));
      reduce_one(strict, clean);
      const Values before = residual_of(strict);
      expect_error(GRADSTEP_ERR_NUMERIC, "rank 1 has NaN: 1 of the elements that it would send",
                   [&] { reduce_one(strict, broken); });
      EXPECT_EQ(residual_of(strict), before) << "as before the call, on every rank";
      EXPECT_EQ(reduce_one(strict, clean), (Values{8, 0, 0, 0})) << "the next window is as if there had been none";

      options.nan_policy = GRADSTEP_NAN_ZERO;
      Reducer zeroing(make_context(), comm, options, make_schema({{4}}));
      EXPECT_EQ(reduce_one(zeroing, broken), (Values{8, 0, 0, 0}));
      EXPECT_EQ(residual_of(zeroing), comm.rank() == 1 ? (Values{0, 0, 0.5F, 0.5F}) : (Values{0, 0.5F, 0.5F, 0.5F}));
      EXPECT_EQ(zeroing.bucket_stats()[0].nonfinite, comm.rank());

      options.nan_policy = GRADSTEP_NAN_SEND;
      Reducer sending(make_context(), comm, options, make_schema({{4}}));
      EXPECT_TRUE(std::isnan(reduce_one(sending, broken)[1])) << "every rank sees it";
      for (const float kept : residual_of(sending)) EXPECT_FALSE(std::isnan(kept));
    });
  }
}

TEST(SparseDefects, MoreNansThanAreSelectedAreAllDropped) {
  run_ranks(1, [](Communicator& comm) {
    auto options = sparse_options(GRADSTEP_REDUCER_SPARSE_TOPK, 0.25);
    options.nan_policy = GRADSTEP_NAN_ZERO;
    Reducer reducer(make_context(), comm, options, make_schema({{4}}));
    EXPECT_EQ(reduce_one(reducer, {kNan, kNan, kNan, 1}), (Values{0, 0, 0, 1}));
    EXPECT_EQ(reducer.bucket_stats()[0].nonfinite, 3);
  });
}

// Defect: packed buffers had a size of their own that was not compared with what was packed.
TEST(SparseDefects, BucketsThatCouldOverflowAreRefused) {
  run_ranks(1, [](Communicator& comm) {
    auto options = sparse_options(GRADSTEP_REDUCER_SPARSE_TOPK, 0.25);
    options.fuse_threshold = 1000;
    options.bucket_elements = 1999;
    expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "options.bucket_elements: is 1999, expected at least twice",
                 [&] { Reducer(make_context(), comm, options, make_schema({{4}})); });
  });
}

// Defect: buffers of one bucket were overwritten while those of another were still on their way.
TEST(SparseDefects, ManyBucketsDoNotMixUpTheirBuffers) {
  const std::vector<std::int64_t> sizes = {5000, 5001, 4999, 7000, 300, 5000};
  std::vector<Tensors<float>> gradients(3);
  for (std::size_t r = 0; r < 3; ++r) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      gradients[r].emplace_back(std::vector<std::int64_t>{sizes[i]},
                                gradient(static_cast<std::size_t>(sizes[i]), r, static_cast<std::uint32_t>(i)));
    }
  }
  auto options = sparse_options(GRADSTEP_REDUCER_SPARSE_TOPK, 0.05);
  options.selection = GRADSTEP_SELECTION_TENSOR;
  const auto together = reduce_world(make_world("local", 3), options, gradients);
  options.fuse_threshold = 1;
  const auto apart = reduce_world(make_world("local", 3), options, gradients);
  for (std::size_t i = 0; i < sizes.size(); ++i) EXPECT_EQ(together[i].values, apart[i].values) << i;
}

TEST(SparseFailure, AFailedWindowLeavesResidualsAndGradientsAsTheyWere) {
  run_ranks(
      2,
      [](Communicator& comm) {
        auto options = sparse_options(GRADSTEP_REDUCER_SPARSE_TOPK, 0.25);
        options.fuse_threshold = 1;  // two buckets: the first one succeeds
        Reducer reducer(make_context(), comm, options, make_schema({{4}, {8}}));
        TestTensor<float> a({4}, {1, 2, 3, 4});
        TestTensor<float> b({8}, {1, 2, 3, 4, 5, 6, 7, 8});
        const gradstep_tensor views[] = {a.tensor(), b.tensor()};
        host::reduce(reducer, views, nullptr, 2, 1);
        const Array kept = reducer.memory().residual(1);
        const auto* data = static_cast<const float*>(kept.data);
        const Values before(data, data + 8);
        host::push(reducer, 1, views[1]);
        if (comm.rank() == 0) {
          reducer.cancel();
        } else {
          EXPECT_THROW(host::wait(reducer, views, 2), Error);
        }
        EXPECT_EQ(std::memcmp(reducer.memory().residual(1).data, before.data(), sizeof(float) * 8), 0);
        EXPECT_EQ(b.values, (Values{1, 2, 3, 4, 5, 6, 7, 8}));
      },
      2000);
}

TEST(Sparse, BadOptionsAreNamed) {
  run_ranks(1, [](Communicator& comm) {
    const auto refuse = [&](const char* text, const std::function<void(gradstep_reducer_options&)>& change) {
      auto options = sparse_options(GRADSTEP_REDUCER_SPARSE_TOPK, 0.1);
      change(options);
      expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, text,
                   [&] { Reducer(make_context(), comm, options, make_schema({{4}})); });
    };
    refuse("options.sparsity: is 0,", [](auto& o) { o.sparsity = 0; });
    refuse("options.sparsity: is 1.5,", [](auto& o) { o.sparsity = 1.5; });
    refuse("options.sparsity: is nan", [](auto& o) { o.sparsity = static_cast<double>(kNan); });
    refuse("options.sparsity: is -1,", [](auto& o) {
      o.mode = GRADSTEP_REDUCER_SPARSE_THRESHOLD;
      o.sparsity = -1;
    });
    refuse("options.selection: is 2", [](auto& o) { o.selection = 2; });
    refuse("options.nan_policy: is -1", [](auto& o) { o.nan_policy = -1; });
    refuse("options.residual: is 7", [](auto& o) { o.residual = 7; });
    refuse("options.sparse_exchange: is 3", [](auto& o) { o.sparse_exchange = 3; });
    auto options = sparse_options(GRADSTEP_REDUCER_SPARSE_TOPK, 0.1);
    options.residual = 0;
    Reducer reducer(make_context(), comm, options, make_schema({{4}}));
    expect_error(GRADSTEP_ERR_INVALID_STATE, "keeps no residuals", [&] { reducer.memory().residual(0); });
    expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "index: is 1", [&] { reducer.memory().residual(1); });
  });
}

}  // namespace
}  // namespace gradstep::test
