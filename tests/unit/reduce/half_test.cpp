// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/half.h"

#include "kernels/convert.h"
#include "unit/reduce/world_reduce.h"

namespace gradstep::test {
namespace {

using kernels::to_bfloat16;
using kernels::to_float;
using kernels::to_float16;

float as_half(float x) { return to_float(to_float16(x)); }
float as_bfloat16(float x) { return to_float(to_bfloat16(x)); }

std::vector<Tensors<float>> gradients_of(std::int32_t ranks, std::int64_t size) {
  std::vector<Tensors<float>> gradients(static_cast<std::size_t>(ranks));
  for (std::int32_t r = 0; r < ranks; ++r) {
    auto& own = gradients[static_cast<std::size_t>(r)];
    for (const std::int64_t n : {size, std::int64_t{3}}) {
      own.emplace_back(std::vector<std::int64_t>{n},
                       random_values<float>(static_cast<std::size_t>(n), static_cast<std::uint32_t>(r * 5 + n)));
    }
  }
  return gradients;
}

class HalfOnEngines : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Engines, HalfOnEngines, testing::ValuesIn(engines()),
                         [](const auto& test) { return test.param; });

TEST_P(HalfOnEngines, GradientsAreRoundedAddedInSinglePrecisionDividedAndRoundedOnce) {
  for (const std::int64_t size : {100, 70000}) {
    const auto gradients = gradients_of(3, size);
    for (const std::int32_t mode : {GRADSTEP_REDUCER_HALF, GRADSTEP_REDUCER_BFLOAT16}) {
      const auto found = reduce_world(make_world(GetParam(), 3), mode_options(mode), gradients);
      const auto round = mode == GRADSTEP_REDUCER_HALF ? as_half : as_bfloat16;
      for (std::size_t i = 0; i < found[0].values.size(); ++i) {
        float sum = round(gradients[0][0].values[i]);
        for (std::size_t r = 1; r < 3; ++r) sum += round(gradients[r][0].values[i]);
        ASSERT_EQ(found[0].values[i], round(sum / 3)) << i;
      }
    }
  }
}

TEST_P(HalfOnEngines, SumsInHalfPrecisionRoundEveryAddition) {
  const auto gradients = gradients_of(3, 70000);
  auto options = mode_options(GRADSTEP_REDUCER_HALF);
  for (const std::int32_t half_sum : {GRADSTEP_HALF_SUM_FP16, GRADSTEP_HALF_SUM_FP16_PREDIVIDED}) {
    options.half_sum = half_sum;
    const bool predivided = half_sum == GRADSTEP_HALF_SUM_FP16_PREDIVIDED;
    const auto found = reduce_world(make_world(GetParam(), 3), options, gradients);
    for (std::size_t i = 0; i < found[0].values.size(); ++i) {
      const auto on_wire = [&](std::size_t r) {
        return as_half(predivided ? gradients[r][0].values[i] / 3 : gradients[r][0].values[i]);
      };
      const float sum = as_half(as_half(on_wire(0) + on_wire(1)) + on_wire(2));
      ASSERT_EQ(found[0].values[i], predivided ? sum : sum / 3) << i;
    }
  }
}

Tensors<float> one(float value) {
  Tensors<float> list;
  list.emplace_back(std::vector<std::int64_t>{1}, std::vector<float>{value});
  return list;
}

TEST(Half, OnlySumsInHalfPrecisionOverflowBeforeTheDivision) {
  const std::vector<Tensors<float>> gradients = {one(60000), one(60000)};
  auto options = mode_options(GRADSTEP_REDUCER_HALF);
  EXPECT_EQ(reduce_world(make_world("local", 2), options, gradients)[0].values[0], as_half(60000));
  options.half_sum = GRADSTEP_HALF_SUM_FP16_PREDIVIDED;
  EXPECT_EQ(reduce_world(make_world("local", 2), options, gradients)[0].values[0], as_half(60000));
  options.half_sum = GRADSTEP_HALF_SUM_FP16;
  EXPECT_TRUE(std::isinf(reduce_world(make_world("local", 2), options, gradients)[0].values[0]));
}

TEST(Half, ASumThatOverflowsIsReported) {
  run_ranks(2, [](Communicator& comm) {
    auto options = mode_options(GRADSTEP_REDUCER_HALF);
    options.average = GRADSTEP_AVERAGE_SUM;
    Reducer reducer(make_context(), comm, options, make_schema({{4}}));
    TestTensor<float> g({4}, std::vector<float>{60000, 1, 60000, 2});
    const gradstep_tensor tensor = g.tensor();
    host::reduce(reducer, &tensor, &tensor, 1, 1);
    EXPECT_EQ(reducer.bucket_stats()[0].nonfinite, 2);
    EXPECT_EQ(g.values[1], 2);
    EXPECT_TRUE(std::isinf(g.values[2]));
  });
}

TEST(Half, ClippingComesBeforeTheCast) {
  auto options = mode_options(GRADSTEP_REDUCER_HALF);
  options.clip_value = 100;
  const auto found = reduce_world<float>(make_world("local", 2), options, {one(1e30F), one(-3)});
  EXPECT_EQ(found[0].values[0], 48.5F);
}

// Weights of tokens are far outside of what 16 bits hold.
TEST(Half, WeightsNeitherOverflowNorMoveTheClipping) {
  for (const std::int32_t mode : {GRADSTEP_REDUCER_HALF, GRADSTEP_REDUCER_BFLOAT16}) {
    for (const double unit : {1e5, 1e-6}) {
      for (const double clip : {0.0, 1.0}) {
        run_ranks(3, [&](Communicator& comm) {
          auto options = mode_options(mode);
          options.average = GRADSTEP_AVERAGE_WEIGHTED;
          options.clip_value = clip;
          Reducer reducer(make_context(), comm, options, make_schema({{2}, {3}}));
          TestTensor<float> a({2}, {1.5F, -5.0F}), b({3}, 0.0F);
          const gradstep_tensor both[] = {a.tensor(), b.tensor()};
          const double weight = comm.rank() * unit;  // one of them is 0
          host::reduce(reducer, both, both, 2, weight);
          // Exact: weights of 1 and 2 thirds of equal numbers.
          EXPECT_EQ(a.values, (clip > 0 ? std::vector<float>{1, -1} : std::vector<float>{1.5F, -5.0F}))
              << "mode " << mode << ", weight " << weight;
        });
      }
    }
  }
}

TEST(Half, HalfOfTheBytesTravel) {
  run_ranks(2, [](Communicator& comm) {
    Reducer reducer(make_context(), comm, mode_options(GRADSTEP_REDUCER_BFLOAT16), make_schema({{100000}}));
    TestTensor<float> g({100000}, 1.0F);
    const gradstep_tensor tensor = g.tensor();
    host::reduce(reducer, &tensor, nullptr, 1, 1);
    const auto stats = reducer.bucket_stats()[0];
    EXPECT_NEAR(static_cast<double>(stats.bytes_sent), static_cast<double>(stats.bytes_dense) / 2, 256);
    EXPECT_EQ(stats.algorithm, GRADSTEP_EXCHANGE_ALL_REDUCE);
  });
}

}  // namespace
}  // namespace gradstep::test
