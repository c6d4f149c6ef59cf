// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include <gradstep/gradstep.hpp>

namespace gradstep {
namespace {

TEST(CppAccumulator, AWindowEndsAndItsMeanIsAView) {
  const Context context;
  Accumulator accumulator(context, {.mode = AccumulationMode::kMean, .steps = 2}, {{.shape = {2}}});
  std::vector<float> gradient{1, 2};
  const ConstTensorList grads{gradient};
  EXPECT_FALSE(accumulator.add(grads));
  EXPECT_EQ(accumulator.sums()[0].as<const float>()[1], 2);
  gradient = {3, 6};
  EXPECT_TRUE(accumulator.add(grads));
  const Views<Accumulator> means = accumulator.gradients();
  EXPECT_TRUE(means.of(accumulator));
  EXPECT_EQ(means[0].as<const float>()[0], 2);
  EXPECT_EQ(means[0].as<const float>()[1], 4);
  EXPECT_DOUBLE_EQ(accumulator.norm().as<const double>()[0], std::sqrt(20.0));
  EXPECT_EQ(accumulator.count(), 2);
  EXPECT_EQ(accumulator.weight(), 2);
  EXPECT_EQ(accumulator.skipped(), 0);
  EXPECT_TRUE(accumulator.poll());
}

TEST(CppAccumulator, ViewsAreSteppedWithoutACopy) {
  const Context context;
  const Parameters schema = {{.shape = {1}}};
  Accumulator accumulator(context, {.mode = AccumulationMode::kSum}, schema);
  auto sgd = Optimizer::sgd(context, {.learning_rate = 1}, schema);
  std::vector<float> value{1};
  const std::vector<float> gradient{0.25F};
  accumulator.add(ConstTensorList{gradient});
  sgd.step(TensorList{value}, accumulator.gradients());
  EXPECT_EQ(value[0], 0.75F);
}

TEST(CppAccumulator, RowsOfAnEmbeddingAreAdded) {
  const Context context;
  Accumulator accumulator(context, {.mode = AccumulationMode::kSum}, {{.shape = {3, 2}}});
  const std::vector<std::int64_t> indices{2, 0, 2};
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  const std::vector<Rows> rows{{.parameter = 0, .indices = indices, .values = ConstTensor(values, {3, 2})}};
  EXPECT_TRUE(accumulator.add(ConstTensorList{}, rows));
  const auto sum = accumulator.gradients()[0].as<const float>();
  EXPECT_EQ(std::vector<float>(sum.begin(), sum.end()), (std::vector<float>{3, 4, 0, 0, 6, 8}));
}

TEST(CppAccumulator, WindowsFollowAScheduleOfTheHosts) {
  const Context context;
  Accumulator accumulator(context,
                          {.trigger = AccumulationTrigger::kSchedule,
                           .schedule = Schedule([](std::int64_t window) { return window == 0 ? 1.0 : 2.0; })},
                          {{.shape = {1}}});
  const std::vector<float> gradient{1};
  const ConstTensorList grads{gradient};
  EXPECT_TRUE(accumulator.add(grads));
  EXPECT_FALSE(accumulator.add(grads));
  EXPECT_TRUE(accumulator.add(grads));
}

TEST(CppAccumulator, APartialWindowIsFlushedOrDropped) {
  const Context context;
  Accumulator accumulator(context, {.mode = AccumulationMode::kSum, .steps = 3, .dtype = kDtypeF64}, {{.shape = {1}}});
  const std::vector<float> gradient{1};
  const ConstTensorList grads{gradient};
  EXPECT_FALSE(accumulator.flush());
  accumulator.add(grads);
  EXPECT_THROW(static_cast<void>(accumulator.gradients()), InvalidState);
  EXPECT_TRUE(accumulator.flush());
  EXPECT_EQ(accumulator.gradients()[0].as<const double>()[0], 1);
  accumulator.reset();
  EXPECT_EQ(accumulator.count(), 0);
}

TEST(CppAccumulator, AGradientOfAnotherShapeIsNamedAndNotAdded) {
  const Context context;
  Accumulator accumulator(context, {}, {{.name = "weight", .shape = {2}}});
  const std::vector<float> gradient{1, 2, 3};
  try {
    accumulator.add(ConstTensorList{gradient});
    FAIL() << "3 elements were added to 2";
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("grads[0]"), std::string::npos) << error.what();
  }
  EXPECT_EQ(accumulator.count(), 0);
}

}  // namespace
}  // namespace gradstep
