// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/reducer.h"

#include "unit/reduce/reducer_fixture.h"

namespace gradstep::test {
namespace {

TEST(Reducer, EveryAverageHasTheBitsOfItsFormulaInRankOrder) {
  for (const std::int32_t ranks : {1, 2, 3, 4}) {
    for (const std::int32_t average : {GRADSTEP_AVERAGE_SUM, GRADSTEP_AVERAGE_MEAN, GRADSTEP_AVERAGE_WEIGHTED}) {
      run_ranks(ranks, [&](Communicator& comm) {
        std::vector<float> weights;
        float total = 0;
        for (std::int32_t r = 0; r < ranks; ++r) {
          weights.push_back(average == GRADSTEP_AVERAGE_WEIGHTED ? 0.5F + static_cast<float>(r) : 1.0F);
          total += weights.back();
        }
        const float divisor = average == GRADSTEP_AVERAGE_SUM ? 1 : total;
        Reducer reducer(make_context(), comm, reducer_options(average), make_schema(kGradientShapes));
        auto mine = rank_gradients(comm.rank());
        const auto grads = tensors_of(mine);
        host::reduce(reducer, grads.data(), grads.data(), grads.size(), weights[static_cast<std::size_t>(comm.rank())]);
        for (const std::size_t k : {0U, 1U, 3U, 4U}) {
          for (std::size_t i = 0; i < mine[k].values.size(); i += 13) {
            ASSERT_EQ(mine[k].values[i], in_rank_order(ranks, k, i, weights, divisor)) << "parameter " << k;
          }
        }
      });
    }
  }
}

TEST(Reducer, PushesInAnyOrderGiveTheBitsOfOneReduce) {
  run_ranks(3, [](Communicator& comm) {
    const Schema schema = make_schema(kGradientShapes);
    Reducer whole(make_context(), comm, reducer_options(), schema);
    Reducer pushed(make_context(), comm, reducer_options(), schema);
    auto a = rank_gradients(comm.rank());
    auto b = rank_gradients(comm.rank());
    const auto ta = tensors_of(a);
    const auto tb = tensors_of(b);
    host::reduce(whole, ta.data(), ta.data(), ta.size(), 1);
    std::vector<std::size_t> order = {4, 3, 2, 1, 0};
    if (comm.rank() == 1) order = {0, 2, 4, 1, 3};  // the ranks need not agree on the order
    for (const std::size_t i : order) host::push(pushed, i, tb[i]);
    host::wait(pushed, tb.data(), tb.size());
    for (std::size_t k = 0; k < a.size(); ++k) EXPECT_EQ(a[k].values, b[k].values);
  });
}

TEST(Reducer, ResultsWithoutDataAreNotWanted) {
  run_ranks(2, [](Communicator& comm) {
    const Schema schema = make_schema(kGradientShapes);
    Reducer all(make_context(), comm, reducer_options(), schema);
    Reducer some(make_context(), comm, reducer_options(), schema);
    auto a = rank_gradients(comm.rank());
    auto b = rank_gradients(comm.rank());
    const auto before = b[1].values;
    const auto ta = tensors_of(a);
    const auto tb = tensors_of(b);
    auto wanted = tb;
    wanted[1] = b[1].absent();
    host::reduce(all, ta.data(), ta.data(), ta.size(), 1);
    host::reduce(some, tb.data(), wanted.data(), tb.size(), 1);
    EXPECT_EQ(b[1].values, before);
    EXPECT_EQ(b[3].values, a[3].values);
    std::vector<gradstep_tensor> views(schema.size());
    host::read_gradients(some, views);
    const auto* view = static_cast<const float*>(views[1].data);
    EXPECT_EQ(std::vector<float>(view, view + a[1].values.size()), a[1].values);
  });
}

TEST(Reducer, ResultsDoNotDependOnTheBucketPlan) {
  std::vector<std::vector<float>> results;
  for (const std::int64_t threshold : {1, 64, 100000}) {
    run_ranks(2, [&](Communicator& comm) {
      Reducer reducer(make_context(), comm, reducer_options(GRADSTEP_AVERAGE_MEAN, threshold),
                      make_schema(kGradientShapes));
      auto mine = rank_gradients(comm.rank());
      const auto grads = tensors_of(mine);
      host::reduce(reducer, grads.data(), grads.data(), grads.size(), 1);
      if (comm.rank() == 0) results.push_back(mine[3].values);
    });
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST(Reducer, OneAllReducePerBucketAndAControlOnlyWhereItIsNeeded) {
  for (const bool control : {false, true}) {
    run_ranks(2, [&](Communicator& comm) {
      const auto options = reducer_options(control ? GRADSTEP_AVERAGE_WEIGHTED : GRADSTEP_AVERAGE_MEAN);
      Reducer reducer(make_context(), comm, options, make_schema(kGradientShapes));
      auto mine = rank_gradients(comm.rank());
      const auto grads = tensors_of(mine);
      const auto before = reducer.comm().stats().all_reduces;
      host::reduce(reducer, grads.data(), nullptr, grads.size(), 1);
      const auto buckets = static_cast<std::int64_t>(reducer.bucket_stats().size());
      EXPECT_EQ(reducer.comm().stats().all_reduces - before, buckets + (control ? 1 : 0));
      EXPECT_EQ(reducer.bucket_stats()[0].exchanges, 1);
    });
  }
}

TEST(Reducer, ARankWithoutAGradientContributesZeros) {
  run_ranks(2, [](Communicator& comm) {
    Reducer reducer(make_context(), comm, reducer_options(GRADSTEP_AVERAGE_SUM), make_schema({{3}}));
    TestTensor<float> g({3}, 5.0F);
    const gradstep_tensor tensor = comm.rank() == 0 ? g.tensor() : g.absent();
    host::reduce(reducer, &tensor, nullptr, 1, 1);
    std::vector<gradstep_tensor> views(1);
    host::read_gradients(reducer, views);
    EXPECT_EQ(static_cast<const float*>(views[0].data)[2], 5);
    EXPECT_DOUBLE_EQ(*reducer.norm(), std::sqrt(75.0));
  });
}

TEST(Reducer, AParameterThatNoRankUsedHasNoResult) {
  run_ranks(2, [](Communicator& comm) {
    Reducer reducer(make_context(), comm, reducer_options(),
                    make_schema({{3}, {2}}, DType::f32, GRADSTEP_PARAMETER_MAY_BE_UNUSED));
    TestTensor<float> a({3}, 4.0F), b({2}, 7.0F), keep({2}, -1.0F);
    const gradstep_tensor grads[] = {comm.rank() == 1 ? a.tensor() : a.absent(), b.absent()};
    const gradstep_tensor results[] = {a.tensor(), keep.tensor()};
    host::reduce(reducer, grads, results, 2, 1);
    std::vector<gradstep_tensor> views(2);
    host::read_gradients(reducer, views);
    EXPECT_NE(views[0].data, nullptr);
    EXPECT_EQ(views[1].data, nullptr);
    EXPECT_EQ(a.values[0], 2);
    EXPECT_EQ(keep.values[0], -1) << "left alone";
  });
}

TEST(Reducer, NoWeightAnywhereIsZeroNotNan) {
  run_ranks(2, [](Communicator& comm) {
    Reducer reducer(make_context(), comm, reducer_options(GRADSTEP_AVERAGE_WEIGHTED), make_schema({{3}}));
    TestTensor<float> g({3}, 5.0F);
    const gradstep_tensor tensor = g.tensor();
    host::reduce(reducer, &tensor, &tensor, 1, 0);
    EXPECT_EQ(g.values, std::vector<float>(3, 0));
  });
}

TEST(Reducer, AGradientOfWeightZeroIsNotRead) {
  for (const std::int32_t mode : {GRADSTEP_REDUCER_DENSE, GRADSTEP_REDUCER_BFLOAT16}) {
    run_ranks(2, [&](Communicator& comm) {
      auto options = reducer_options(GRADSTEP_AVERAGE_WEIGHTED);
      options.mode = mode;
      Reducer reducer(make_context(), comm, options, make_schema({{3}}));
      const bool is_empty = comm.rank() == 1;
      TestTensor<float> g({3}, is_empty ? std::numeric_limits<float>::quiet_NaN() : 5.0F);
      const gradstep_tensor tensor = g.tensor();
      host::reduce(reducer, &tensor, &tensor, 1, is_empty ? 0 : 3);
      EXPECT_EQ(g.values, std::vector<float>(3, 5));
    });
  }
}

TEST(Reducer, WeightsThatASumInFloatCannotHoldAreRefused) {
  run_ranks(1, [](Communicator& comm) {
    Reducer reducer(make_context(), comm, reducer_options(GRADSTEP_AVERAGE_WEIGHTED), make_schema({{3}}));
    TestTensor<float> g({3}, 2.0F);
    const gradstep_tensor tensor = g.tensor();
    for (const double weight : {1e40, 1e35, 1e-50}) {
      expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "weight: is ",
                   [&] { host::reduce(reducer, &tensor, &tensor, 1, weight); });
    }
    host::reduce(reducer, &tensor, &tensor, 1, 1e-20);
    for (const float value : g.values) EXPECT_NEAR(value, 2, 1e-6);
  });
}

TEST(Reducer, RanksThatDisagreeAreToldOnEveryRank) {
  run_ranks(3, [](Communicator& comm) {
    const std::int64_t last = comm.rank() == 2 ? 8 : 9;
    expect_error(GRADSTEP_ERR_MISMATCH, "rank 2 and rank 0 disagree on the parameters' shapes",
                 [&] { Reducer(make_context(), comm, reducer_options(), make_schema({{4}, {last}})); });
  });
  run_ranks(2, [](Communicator& comm) {
    expect_error(GRADSTEP_ERR_MISMATCH, "the reducer's options",
                 [&] { Reducer(make_context(), comm, reducer_options(1 + comm.rank()), make_schema({{4}})); });
  });
}

TEST(Reducer, HalfPrecisionGradientsAreReducedInSinglePrecision) {
  run_ranks(2, [](Communicator& comm) {
    Reducer reducer(make_context(), comm, reducer_options(GRADSTEP_AVERAGE_SUM), make_schema({{1}}, DType::bf16));
    std::int64_t shape[] = {1};
    std::uint16_t value = comm.rank() == 0 ? 0x3f80 : 0x3b80;  // 1 and 2^-8
    gradstep_tensor g{};
    g.data = &value;
    g.device = {GRADSTEP_DEVICE_CPU, 0};
    g.ndim = 1;
    g.dtype = to_dlpack(DType::bf16);
    g.shape = shape;
    host::reduce(reducer, &g, nullptr, 1, 1);
    std::vector<gradstep_tensor> views(1);
    host::read_gradients(reducer, views);
    EXPECT_EQ(*static_cast<const float*>(views[0].data), 1.00390625F);
  });
}

}  // namespace
}  // namespace gradstep::test
