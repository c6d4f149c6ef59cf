// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "accumulate/accumulator.h"

#include "unit/accumulate/accumulator_fixture.h"
#include "unit/recorded_log.h"

namespace gradstep::test {
namespace {

constexpr std::int64_t kSize = 20000;  // more than one chunk

class Windows : public ::testing::Test {
 protected:
  std::vector<TestTensor<float>> micro_batches(int count) {
    std::vector<TestTensor<float>> list;
    for (int k = 0; k < count; ++k) {
      list.emplace_back(std::vector<std::int64_t>{kSize},
                        random_values<float>(kSize, 10 + static_cast<std::uint32_t>(k)));
    }
    return list;
  }
  static bool add(Accumulator& accumulator, TestTensor<float>& g, double weight = 1) {
    const gradstep_tensor tensor = g.tensor();
    return host::add(accumulator, &tensor, 1, weight);
  }
  Schema schema = make_schema({{kSize}});
};

// f32 sums of four numbers near 1 against f64: a few ulp.
constexpr double kTolerance = 2e-6;

TEST_F(Windows, EveryModeGivesItsResult) {
  const double weights[] = {1, 0.5, 2, 3};
  auto g = micro_batches(4);
  for (const std::int32_t mode : {GRADSTEP_ACCUMULATE_SUM, GRADSTEP_ACCUMULATE_MEAN_EACH, GRADSTEP_ACCUMULATE_MEAN,
                                  GRADSTEP_ACCUMULATE_RUNNING_MEAN, GRADSTEP_ACCUMULATE_WEIGHTED}) {
    auto accumulator = make_accumulator(AccumulatorOptions().with_mode(mode).with_steps(4), schema);
    for (int window = 0; window < 2; ++window) {  // the second window must assign, not add
      for (int k = 0; k < 4; ++k) {
        EXPECT_EQ(add(*accumulator, g[static_cast<std::size_t>(k)], weights[k]), k == 3);
      }
      const auto values = result<float>(*accumulator);
      double squares = 0;
      for (std::size_t i = 0; i < values.size(); ++i) {
        double sum = 0;
        double weighted = 0;
        for (std::size_t k = 0; k < 4; ++k) {
          sum += g[k].values[i];
          weighted += weights[k] * g[k].values[i];
        }
        double expected = sum / 4;
        if (mode == GRADSTEP_ACCUMULATE_SUM) expected = sum;
        if (mode == GRADSTEP_ACCUMULATE_WEIGHTED) expected = weighted / 6.5;
        ASSERT_NEAR(values[i], expected, kTolerance) << "mode " << mode << " element " << i;
        squares += static_cast<double>(values[i]) * values[i];
      }
      EXPECT_NEAR(*accumulator->norm(), std::sqrt(squares), 1e-12 * std::sqrt(squares));
      EXPECT_EQ(accumulator->count(), 4);
      EXPECT_EQ(accumulator->weight(), mode == GRADSTEP_ACCUMULATE_WEIGHTED ? 6.5 : 4);
    }
  }
}

TEST_F(Windows, AFlushedPartialWindowIsDividedByWhatWasReallyAdded) {
  auto g = micro_batches(3);
  for (const std::int32_t mode : {GRADSTEP_ACCUMULATE_MEAN_EACH, GRADSTEP_ACCUMULATE_MEAN,
                                  GRADSTEP_ACCUMULATE_RUNNING_MEAN, GRADSTEP_ACCUMULATE_WEIGHTED}) {
    auto accumulator = make_accumulator(AccumulatorOptions().with_mode(mode).with_steps(8), schema);
    for (auto& micro_batch : g) EXPECT_FALSE(add(*accumulator, micro_batch));
    EXPECT_TRUE(accumulator->flush());
    EXPECT_TRUE(accumulator->flush()) << "a ready window stays ready";
    const auto values = result<float>(*accumulator);
    double squares = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double expected = (static_cast<double>(g[0].values[i]) + g[1].values[i] + g[2].values[i]) / 3;
      ASSERT_NEAR(values[i], expected, kTolerance) << "mode " << mode;
      squares += static_cast<double>(values[i]) * values[i];
    }
    EXPECT_NEAR(*accumulator->norm(), std::sqrt(squares), 1e-12 * std::sqrt(squares));
  }
}

TEST_F(Windows, AnEmptyFlushIsNotReady) {
  auto accumulator = make_accumulator(AccumulatorOptions().with_steps(2), schema);
  EXPECT_FALSE(accumulator->flush());
  std::vector<gradstep_tensor> views(1);
  expect_error(GRADSTEP_ERR_INVALID_STATE, "window is open", [&] { host::read_gradients(*accumulator, views); });
  expect_error(GRADSTEP_ERR_INVALID_STATE, "window is open", [&] { (void)accumulator->norm(); });
}

TEST_F(Windows, ResetDropsTheWindow) {
  auto g = micro_batches(2);
  auto accumulator = make_accumulator(AccumulatorOptions().with_mode(GRADSTEP_ACCUMULATE_SUM).with_steps(2), schema);
  add(*accumulator, g[0]);
  accumulator->reset();
  EXPECT_EQ(accumulator->count(), 0);
  EXPECT_FALSE(add(*accumulator, g[1]));
  EXPECT_TRUE(add(*accumulator, g[1]));
  EXPECT_EQ(result<float>(*accumulator)[5], 2 * g[1].values[5]);
}

TEST_F(Windows, MinimumWeightEndsAWindow) {
  AccumulatorOptions options;
  options.mode = GRADSTEP_ACCUMULATE_WEIGHTED;
  options.trigger = GRADSTEP_TRIGGER_MIN_WEIGHT;
  options.min_weight = 10;
  auto accumulator = make_accumulator(options, schema);
  auto g = micro_batches(1);
  EXPECT_FALSE(add(*accumulator, g[0], 4));
  EXPECT_FALSE(add(*accumulator, g[0], 5.5));
  EXPECT_TRUE(add(*accumulator, g[0], 0.5));
  EXPECT_EQ(accumulator->weight(), 10);
}

TEST_F(Windows, AScheduleSetsTheLengthOfEachWindow) {
  const std::int64_t boundaries[] = {0};
  const double values[] = {1, 3};
  gradstep_schedule s{};
  s.struct_size = sizeof s;
  s.kind = GRADSTEP_SCHEDULE_PIECEWISE;
  s.boundaries = boundaries;
  s.values = values;
  s.n_points = 2;
  AccumulatorOptions options;
  options.trigger = GRADSTEP_TRIGGER_SCHEDULE;
  auto accumulator = make_accumulator(options, schema, Schedule("s", &s));
  auto g = micro_batches(1);
  EXPECT_TRUE(add(*accumulator, g[0]));
  EXPECT_FALSE(add(*accumulator, g[0]));
  EXPECT_FALSE(add(*accumulator, g[0]));
  EXPECT_TRUE(add(*accumulator, g[0]));
}

TEST_F(Windows, ManualWindowsEndOnlyByFlush) {
  AccumulatorOptions options;
  options.mode = GRADSTEP_ACCUMULATE_SUM;
  options.trigger = GRADSTEP_TRIGGER_MANUAL;
  auto accumulator = make_accumulator(options, schema);
  auto g = micro_batches(1);
  for (int k = 0; k < 20; ++k) EXPECT_FALSE(add(*accumulator, g[0]));
  EXPECT_TRUE(accumulator->flush());
}

TEST_F(Windows, SkippedMicroBatchesAreNeitherAddedNorCounted) {
  AccumulatorOptions options;
  options.mode = GRADSTEP_ACCUMULATE_MEAN;
  options.steps = 2;
  options.nonfinite = GRADSTEP_NONFINITE_SKIP;
  auto accumulator = make_accumulator(options, schema);
  auto g = micro_batches(3);
  g[1].values[kSize - 1] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(add(*accumulator, g[0]));
  EXPECT_FALSE(add(*accumulator, g[1]));
  EXPECT_EQ(accumulator->skipped(), 1);
  EXPECT_TRUE(add(*accumulator, g[2]));
  EXPECT_EQ(result<float>(*accumulator)[3], (g[0].values[3] + g[2].values[3]) / 2);
}

TEST_F(Windows, SharedWindowsCountSkippedPushesForTheTriggerButNotForTheDivisor) {
  AccumulatorOptions options;
  options.mode = GRADSTEP_ACCUMULATE_MEAN_EACH;
  options.steps = 3;
  options.nonfinite = GRADSTEP_NONFINITE_SKIP;
  auto accumulator = make_accumulator(options, schema);
  accumulator->count_pushes();
  auto g = micro_batches(2);
  auto bad = g[0];
  bad.values[0] = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(add(*accumulator, g[0]));
  EXPECT_FALSE(add(*accumulator, g[1]));
  EXPECT_TRUE(add(*accumulator, bad)) << "the third push ends the window";
  EXPECT_NEAR(result<float>(*accumulator)[3], (static_cast<double>(g[0].values[3]) + g[1].values[3]) / 2, kTolerance);
  for (int k = 0; k < 3; ++k) EXPECT_EQ(add(*accumulator, bad), k == 2);
  std::vector<gradstep_tensor> views(1);
  host::read_gradients(*accumulator, views);
  EXPECT_EQ(views[0].data, nullptr) << "a window of skipped micro-batches has no result";
  EXPECT_EQ(*accumulator->norm(), 0);
}

TEST_F(Windows, APoisonedWindowSaysSoInItsNorm) {
  AccumulatorOptions options;
  options.steps = 2;
  options.nonfinite = GRADSTEP_NONFINITE_POISON;
  auto accumulator = make_accumulator(options, schema);
  auto g = micro_batches(2);
  g[0].values[77] = std::numeric_limits<float>::infinity();
  add(*accumulator, g[0]);
  EXPECT_TRUE(add(*accumulator, g[1]));
  EXPECT_FALSE(std::isfinite(*accumulator->norm()));
}

TEST_F(Windows, AWeightedWindowOfNoWeightIsZero) {
  auto accumulator =
      make_accumulator(AccumulatorOptions().with_mode(GRADSTEP_ACCUMULATE_WEIGHTED).with_steps(1), schema);
  auto g = micro_batches(1);
  EXPECT_TRUE(add(*accumulator, g[0], 0));
  for (const float value : result<float>(*accumulator)) ASSERT_EQ(value, 0);
}

TEST_F(Windows, AGradientOfWeightZeroIsNotRead) {
  auto options = AccumulatorOptions().with_mode(GRADSTEP_ACCUMULATE_WEIGHTED).with_steps(3);
  options.nonfinite = GRADSTEP_NONFINITE_SKIP;
  auto accumulator = make_accumulator(options, schema);
  auto g = micro_batches(2);
  g[0].values.assign(kSize, std::numeric_limits<float>::quiet_NaN());
  add(*accumulator, g[0], 0);
  add(*accumulator, g[1], 5);
  EXPECT_TRUE(add(*accumulator, g[0], 0));
  EXPECT_EQ(accumulator->skipped(), 0);
  const std::vector<float> mean = result<float>(*accumulator);
  for (std::size_t i = 0; i < mean.size(); ++i) ASSERT_NEAR(mean[i], g[1].values[i], kTolerance);
}

TEST_F(Windows, WeightsThatASumInFloatCannotHoldAreRefused) {
  auto accumulator =
      make_accumulator(AccumulatorOptions().with_mode(GRADSTEP_ACCUMULATE_WEIGHTED).with_steps(2), schema);
  auto g = micro_batches(2);
  for (const double weight : {1e40, 1e35, 1e-50}) {
    expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "weight: is ", [&] { add(*accumulator, g[0], weight); });
  }
  EXPECT_EQ(accumulator->count(), 0);
  add(*accumulator, g[0], 1e-19);
  EXPECT_TRUE(add(*accumulator, g[0], 1e-19));
  const std::vector<float> mean = result<float>(*accumulator);
  for (std::size_t i = 0; i < mean.size(); ++i) ASSERT_NEAR(mean[i], g[0].values[i], kTolerance);
  const Schema wide = make_schema({{kSize}}, DType::f64);
  auto doubles = make_accumulator(AccumulatorOptions().with_mode(GRADSTEP_ACCUMULATE_WEIGHTED).with_steps(2), wide);
  TestTensor<double> two({kSize}, std::vector<double>(kSize, 2));
  const gradstep_tensor tensor = two.tensor();
  host::add(*doubles, &tensor, 1, 1e-50);
  EXPECT_TRUE(host::add(*doubles, &tensor, 1, 1e-50));
  for (const double value : result<double>(*doubles)) ASSERT_NEAR(value, 2, 1e-14);
}

TEST_F(Windows, KeptSumsAreUndividedUntilTheGradientsAreAskedFor) {
  AccumulatorOptions options;
  options.mode = GRADSTEP_ACCUMULATE_WEIGHTED;
  options.steps = 2;
  options.keep_sums = 1;
  auto accumulator = make_accumulator(options, schema);
  auto g = micro_batches(2);
  add(*accumulator, g[0], 2);
  add(*accumulator, g[1], 6);
  std::vector<gradstep_tensor> sums(1);
  host::read_sums(*accumulator, sums);
  const float sum = read<float>(sums[0])[9];
  EXPECT_EQ(sum, 2 * g[0].values[9] + 6 * g[1].values[9]);
  const double norm = *accumulator->norm();
  EXPECT_EQ(result<float>(*accumulator)[9], sum / 8);
  expect_error(GRADSTEP_ERR_INVALID_STATE, "keep_sums", [&] { host::read_sums(*accumulator, sums); });
  options.keep_sums = 0;
  auto divided = make_accumulator(options, schema);
  add(*divided, g[0], 2);
  add(*divided, g[1], 6);
  EXPECT_NEAR(norm, *divided->norm(), 1e-6 * norm);  // division before and after the f64 sum of squares
  expect_error(GRADSTEP_ERR_INVALID_STATE, "keep_sums", [&] { host::read_sums(*divided, sums); });
}

TEST(Accumulator, ParametersWithoutAGradientCountAsZeroAndUntouchedOnesHaveNoResult) {
  const Schema schema = make_schema({{3}, {3}, {3}});
  auto accumulator = make_accumulator(AccumulatorOptions().with_steps(2), schema);
  TestTensor<float> g({3}, 4.0F);
  const gradstep_tensor first[] = {g.tensor(), g.absent(), g.absent()};
  const gradstep_tensor second[] = {g.absent(), g.tensor(), g.absent()};
  host::add(*accumulator, first, 3, 1);
  EXPECT_TRUE(host::add(*accumulator, second, 3, 1));
  std::vector<gradstep_tensor> views(3);
  host::read_gradients(*accumulator, views);
  EXPECT_EQ(read<float>(views[0]), std::vector<float>(3, 2));
  EXPECT_EQ(read<float>(views[1]), std::vector<float>(3, 2));
  EXPECT_EQ(views[2].data, nullptr);
  EXPECT_DOUBLE_EQ(*accumulator->norm(), std::sqrt(6 * 4.0));
}

// Squares of these leave the range of f64, the norm does not.
TEST(Accumulator, NormsOfDoublesAreRightUpToTheEndsOfTheirRange) {
  const Schema schema = make_schema({{4}}, DType::f64);
  for (const double size : {1e200, 1e-200}) {
    auto accumulator = make_accumulator(AccumulatorOptions().with_steps(1), schema);
    TestTensor<double> g({4}, size);
    const gradstep_tensor grad = g.tensor();
    EXPECT_TRUE(host::add(*accumulator, &grad, 1, 1));
    EXPECT_DOUBLE_EQ(*accumulator->norm(), 2 * size);
  }
}

TEST(Accumulator, ARunningMeanTakesAMissingGradientAsZero) {
  const Schema schema = make_schema({{1}});
  auto accumulator =
      make_accumulator(AccumulatorOptions().with_mode(GRADSTEP_ACCUMULATE_RUNNING_MEAN).with_steps(4), schema);
  TestTensor<float> g({1}, 8.0F);
  const gradstep_tensor present = g.tensor();
  const gradstep_tensor absent = g.absent();
  host::add(*accumulator, &absent, 1, 1);
  host::add(*accumulator, &present, 1, 1);
  host::add(*accumulator, &absent, 1, 1);
  host::add(*accumulator, &present, 1, 1);
  EXPECT_NEAR(result<float>(*accumulator)[0], 4, 1e-6);  // 0 8 0 8, with one division by 3 that rounds
}

TEST(Accumulator, HalfGradientsAreSummedInSinglePrecisionAndDoublesInDouble) {
  const Schema narrow = make_schema({{2}}, DType::bf16);
  auto accumulator = make_accumulator(AccumulatorOptions().with_mode(GRADSTEP_ACCUMULATE_SUM).with_steps(2), narrow);
  std::int64_t shape[] = {2};
  std::uint16_t ones[] = {0x3f80, 0x3b80};  // 1 and 2^-8 in bf16: their sum needs more bits than bf16 has
  gradstep_tensor g{};
  g.data = ones;
  g.device = {GRADSTEP_DEVICE_CPU, 0};
  g.ndim = 1;
  g.dtype = to_dlpack(DType::bf16);
  g.shape = shape;
  host::add(*accumulator, &g, 1, 1);
  ones[0] = 0x3b80;
  host::add(*accumulator, &g, 1, 1);
  EXPECT_EQ(result<float>(*accumulator), (std::vector<float>{1.00390625F, 0.0078125F}));

  auto wide = make_accumulator(AccumulatorOptions().with_mode(GRADSTEP_ACCUMULATE_SUM).with_steps(1),
                               make_schema({{1}}, DType::f64));
  TestTensor<double> d({1}, 1 + 1e-12);
  const gradstep_tensor tensor = d.tensor();
  host::add(*wide, &tensor, 1, 1);
  EXPECT_EQ(result<double>(*wide)[0], 1 + 1e-12);
}

TEST(Accumulator, BadInputIsNamedAndNothingIsAdded) {
  const Schema schema = make_schema({{3}});
  auto accumulator = make_accumulator(AccumulatorOptions().with_steps(2), schema);
  TestTensor<float> g({3}, 1.0F), wrong({4});
  const gradstep_tensor good = g.tensor();
  const gradstep_tensor bad = wrong.tensor();
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "grads[0]: shape (4)", [&] { host::add(*accumulator, &bad, 1, 1); });
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "grads: n is 2, the schema has 1",
               [&] { host::add(*accumulator, &good, 2, 1); });
  for (const double weight : {-1.0, static_cast<double>(NAN), static_cast<double>(INFINITY)}) {
    expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "weight: is", [&] { host::add(*accumulator, &good, 1, weight); });
  }
  EXPECT_EQ(accumulator->count(), 0);
  EXPECT_EQ(accumulator->pushes(), 0);
}

TEST(Accumulator, BadOptionsAreNamed) {
  const Schema schema = make_schema({{3}});
  const auto refuse = [&](const AccumulatorOptions& options, const char* part, const Schema& s) {
    expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, part, [&] { make_accumulator(options, s); });
  };
  refuse(AccumulatorOptions().with_steps(0), "options.steps: is 0", schema);
  refuse(AccumulatorOptions().with_mode(9), "options.mode: is 9", schema);
  AccumulatorOptions options;
  options.trigger = GRADSTEP_TRIGGER_MANUAL;
  refuse(options, "mean_each", schema);
  options = AccumulatorOptions();
  options.trigger = GRADSTEP_TRIGGER_SCHEDULE;
  refuse(options, "options.schedule: is NULL", schema);
  options = AccumulatorOptions();
  options.dtype = to_dlpack(DType::bf16);
  refuse(options, "options.dtype: is bf16", schema);
  options.dtype = {GRADSTEP_TYPE_FLOAT, 0, 1};  // only all zeros stand for the default
  refuse(options, "options.dtype", schema);
  options.dtype = to_dlpack(DType::f32);
  refuse(options, "parameter 'p0' is f64", make_schema({{3}}, DType::f64));
  options = AccumulatorOptions();
  options.mode = GRADSTEP_ACCUMULATE_SUM;
  options.trigger = GRADSTEP_TRIGGER_MIN_WEIGHT;
  refuse(options, "options.min_weight", schema);
}

TEST(Accumulator, SkippedMicroBatchesAreInTheLog) {
  RecordedLog records;
  AccumulatorOptions options;
  options.nonfinite = GRADSTEP_NONFINITE_SKIP;
  Accumulator accumulator(records.context(), options, std::nullopt, make_schema({{2}}));
  TestTensor<float> gradient({2}, std::vector<float>{1, std::numeric_limits<float>::infinity()});
  const gradstep_tensor g = gradient.tensor();
  host::add(accumulator, &g, 1);
  EXPECT_EQ(records.count(GRADSTEP_LOG_WARNING, "was skipped, 1 so far"), 1);
}

}  // namespace
}  // namespace gradstep::test
