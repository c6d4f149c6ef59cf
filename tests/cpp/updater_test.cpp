// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <gradstep/gradstep.hpp>
#include <sstream>
#include <thread>

namespace gradstep {
namespace {

const Parameters kModel = {{.name = "weight", .shape = {2}}};

/// Runs a function with each of two connected communicators on a thread of its own.
template <class F>
void on_two_ranks(const Context& context, F&& function) {
  auto comms = Communicator::local(context, 2);
  std::thread other([&] { function(comms[1]); });
  function(comms[0]);
  other.join();
}

TEST(CppUpdater, RanksPushMicroBatchesAndStepAlike) {
  const Context context;
  on_two_ranks(context, [&](Communicator& comm) {
    const auto sgd = Optimizer::sgd(context, {.learning_rate = 1}, kModel);
    const Accumulator accumulator(context, {.mode = AccumulationMode::kSum, .steps = 2}, kModel);
    const Reducer reducer(context, comm, {}, kModel);
    Updater updater(context, sgd, &accumulator, &reducer, {.max_norm = 100});
    std::vector<float> value{8, 8};
    const std::vector<float> gradient{1, static_cast<float>(comm.rank())};
    const TensorList params{value};
    const ConstTensorList grads{gradient};
    EXPECT_FALSE(updater.push(params, grads));
    EXPECT_TRUE(updater.push(params, grads));
    EXPECT_EQ(value, (std::vector<float>{6, 7}));
    EXPECT_FALSE(updater.push(params, grads));
    EXPECT_TRUE(updater.flush(params));
    EXPECT_EQ(value, (std::vector<float>{5, 6.5F}));
    EXPECT_EQ(updater.statistics().windows, 2);
    EXPECT_TRUE(updater.poll());
    updater.recover(nullptr, params);
    EXPECT_FALSE(updater.push(params, grads));
  });
}

TEST(CppOptimizer, RanksStepTheirPartsByTheNormOfTheWhole) {
  const Context context;
  on_two_ranks(context, [&](Communicator& comm) {
    Parameter row{.name = "weight", .shape = {1, 2}, .whole_shape = {2, 2}, .offset = {comm.rank(), 0}};
    auto sgd = Optimizer::sgd(context, {.learning_rate = 1}, {row});
    std::vector<float> value{8, 8};
    const std::vector<float> gradient = comm.rank() == 0 ? std::vector<float>{3, 0} : std::vector<float>{0, 4};
    const TensorList params{Tensor(value, {1, 2})};
    const ConstTensorList grads{ConstTensor(gradient, {1, 2})};
    EXPECT_THROW(sgd.step(params, grads), InvalidState);
    sgd.attach_shards(comm);
    const StepResult result = sgd.step(params, grads, {.max_norm = 2.5});
    EXPECT_EQ(result.grad_norm, 5);
    EXPECT_NEAR(value[comm.rank() == 0 ? 0 : 1], comm.rank() == 0 ? 6.5F : 6, 1e-5F);
    sgd.unshard();
    EXPECT_THROW(sgd.step(params, grads), InvalidState);
    row.offset = {comm.rank()};
    EXPECT_THROW(Optimizer::sgd(context, {.learning_rate = 1}, {row}), InvalidArgument);
  });
}

TEST(CppUpdater, AnOuterOptimizerStepsByWhatARoundHasChanged) {
  const Context context;
  on_two_ranks(context, [&](Communicator& comm) {
    const auto inner = Optimizer::sgd(context, {.learning_rate = 1}, kModel);
    const auto outer = Optimizer::sgd(context, {.learning_rate = 0.5}, kModel);
    const Reducer reducer(context, comm, {}, kModel);
    Updater updater(context, inner, nullptr, &reducer, {.sync = UpdaterSync::kDeltas, .sync_steps = 2}, &outer);
    std::vector<float> value{8, 8};
    const std::vector<float> gradient{1, static_cast<float>(2 * comm.rank())};
    const TensorList params{value};
    const ConstTensorList grads{gradient};
    EXPECT_TRUE(updater.push(params, grads));
    EXPECT_EQ(value, (std::vector<float>{7, 8 - gradient[1]})) << "each rank's own step";
    EXPECT_TRUE(updater.push(params, grads));
    EXPECT_EQ(value, (std::vector<float>{7, 7})) << "half of the mean change, which is 2 of both";
    EXPECT_EQ(outer.step_count(), 1);
  });
}

TEST(CppUpdater, AReducersWindowIsPushedOneGradientAtATime) {
  const Context context;
  on_two_ranks(context, [&](Communicator& comm) {
    Reducer reducer(context, comm, {.average = Average::kSum}, kModel);
    std::vector<float> gradient{1, static_cast<float>(comm.rank())};
    reducer.begin();
    reducer.push(0, gradient);
    reducer.wait();
    const Views<Reducer> sums = reducer.gradients();
    EXPECT_TRUE(sums.of(reducer));
    EXPECT_EQ(sums[0].as<const float>()[0], 2);
    EXPECT_EQ(reducer.norm().as<const double>().size(), 1U);
    reducer.push(0, gradient);
    reducer.wait(TensorList{gradient});
    EXPECT_EQ(gradient, (std::vector<float>{2, 1}));
    EXPECT_EQ(reducer.bucket_statistics().at(0).elements, 2);
    EXPECT_GT(reducer.comm_statistics().all_reduces, 0);
    EXPECT_TRUE(reducer.poll());
    EXPECT_THROW(static_cast<void>(reducer.residual(0)), InvalidState);
    reducer.cancel();
  });
}

TEST(CppUpdater, AResidualIsSeenAndSaved) {
  const Context context;
  auto comms = Communicator::local(context, 1);
  Reducer reducer(context, comms[0], {.mode = ReducerMode::kSparseTopK, .sparsity = 0.5}, kModel);
  const std::vector<float> gradient{1, 4};
  reducer.reduce(ConstTensorList{gradient});
  EXPECT_EQ(reducer.residual(0).as<const float>()[0], 1);
  std::stringstream stream;
  reducer.save(stream);
  Reducer loaded(context, comms[0], {.mode = ReducerMode::kSparseTopK, .sparsity = 0.5}, kModel);
  loaded.load(stream);
  EXPECT_EQ(loaded.residual(0).as<const float>()[0], 1);
}

TEST(CppUpdater, ShardedStateIsSteppedSavedByRankZeroAndGathered) {
  const Context context;
  on_two_ranks(context, [&](Communicator& comm) {
    auto adam = Optimizer::adam(context, {.learning_rate = 1}, kModel);
    adam.shard(comm, {.average = Average::kMean});
    std::vector<float> value{8, 8};
    const std::vector<float> gradient{1, 1};
    adam.step(TensorList{value}, ConstTensorList{gradient});
    EXPECT_FLOAT_EQ(value[0], 7);
    std::stringstream stream;
    if (comm.rank() == 0) {
      adam.save(stream);
      EXPECT_FALSE(stream.str().empty());
    } else {
      adam.save(nullptr);
    }
    adam.unshard();
    EXPECT_EQ(adam.state(0, "exp_avg").as<const float>().size(), 2U);
  });
}

TEST(CppUpdater, AReducerBringsEachRankItsShare) {
  const Context context;
  on_two_ranks(context, [&](Communicator& comm) {
    auto adam = Optimizer::adam(context, {.learning_rate = 1}, kModel);
    Reducer reducer(context, comm, {}, kModel);
    adam.shard(reducer);
    Updater updater(context, adam, nullptr, &reducer);
    std::vector<float> value{8, 8};
    const std::vector<float> gradient{1, 1};
    EXPECT_TRUE(updater.push(TensorList{value}, ConstTensorList{gradient}));
    EXPECT_FLOAT_EQ(value[0], 7);
    reducer.push(0, ConstTensor(gradient));
    EXPECT_TRUE(updater.flush(TensorList{value}));
    EXPECT_FLOAT_EQ(value[0], 6);
    EXPECT_THROW(static_cast<void>(reducer.gradients()), Unsupported);
  });
}

TEST(CppUpdater, HandlesOfOtherModelsAreRefusedByTheParametersName) {
  const Context context;
  const auto sgd = Optimizer::sgd(context, {.learning_rate = 1}, kModel);
  const Accumulator other(context, {}, {{.name = "bias", .shape = {2}}});
  try {
    const Updater updater(context, sgd, &other, nullptr);
    FAIL() << "an updater was made of two models";
  } catch (const Mismatch& error) {
    EXPECT_NE(std::string(error.what()).find("bias"), std::string::npos) << error.what();
  }
}

TEST(CppUpdater, RanksWithDifferentSchemasAreToldSo) {
  const Context context;
  on_two_ranks(context, [&](Communicator& comm) {
    const Parameters schema = {{.shape = {comm.rank() + 1}}};
    EXPECT_THROW(Reducer(context, comm, {}, schema), Mismatch);
  });
}

}  // namespace
}  // namespace gradstep
