// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Old names do what the new ones do. That they warn: without the pragma this file does not compile, as warnings are
// errors.
#include <gtest/gtest.h>

#include <gradstep/gradstep.hpp>
#include <type_traits>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace gradstep {
namespace {

TEST(CppDeprecated, AnOldNameDoesWhatTheNewOneDoes) {
  const Context context;
  const Parameters schema = {{.name = "weight", .shape = {2}}};
  auto comm = std::move(Communicator::local(context, 1).at(0));
  auto adam = Optimizer::adam(context, {.learning_rate = 0.25}, schema);
  EXPECT_EQ(adam.value("learning_rate"), adam.get_value("learning_rate"));
  adam.attach(comm, {.gradients = ShardedGradients::kReduced});
  EXPECT_THROW(static_cast<void>(adam.state(0, "exp_avg")), Unsupported);
  adam.detach();
  EXPECT_NO_THROW(static_cast<void>(adam.state(0, "exp_avg")));

  Reducer reducer(context, comm, {}, schema);
  EXPECT_EQ(reducer.statistics().at(0).elements, reducer.bucket_statistics().at(0).elements);
  adam.attach(reducer);
  EXPECT_THROW(static_cast<void>(adam.state(0, "exp_avg")), Unsupported);

  EXPECT_NO_THROW(comm.throw_if_broken());
  comm.abort();
  EXPECT_THROW(comm.throw_if_broken(), Aborted);

  CostOptions costs{.elements = 1, .ranks = 1, .bandwidth = 1, .latency = 0, .pack_seconds = -1};
  measure(costs, context);
  EXPECT_GE(costs.pack_seconds, 0);
  EXPECT_TRUE((std::is_same_v<RmspropOptions, RmsPropOptions> && std::is_same_v<AdagradOptions, AdaGradOptions>));
}

TEST(CppDeprecated, AnOldEnumeratorIsTheNewOne) {
  EXPECT_TRUE(ReducerMode::kBfloat16 == ReducerMode::kBFloat16 && ReducerMode::kSparseTopk == ReducerMode::kSparseTopK);
  EXPECT_TRUE(ReducerMode::kAdasumNway == ReducerMode::kAdasumNWay && ReducerMode::kPowersgd == ReducerMode::kPowerSgd);
  EXPECT_TRUE(GraftType::kAdagrad == GraftType::kAdaGrad && GraftType::kRmsprop == GraftType::kRmsProp);
  EXPECT_TRUE(GraftType::kAdagradNormalized == GraftType::kAdaGradNormalized);
  EXPECT_TRUE(GraftType::kRmspropNormalized == GraftType::kRmsPropNormalized);
  EXPECT_TRUE(MarsForm::kAdamw == MarsForm::kAdamW && ScheduleFreeInner::kAdamw == ScheduleFreeInner::kAdamW);
  EXPECT_TRUE(ScheduleFreeInner::kRadam == ScheduleFreeInner::kRAdam);
}

}  // namespace
}  // namespace gradstep
