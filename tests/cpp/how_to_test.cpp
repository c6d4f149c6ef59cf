// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What the pages of docs/how_to quote.
#include <gtest/gtest.h>

#include <filesystem>
#include <gradstep/gradstep.hpp>
#include <limits>
#include <thread>

namespace {

using Floats = std::vector<float>;

const gradstep::Parameters kModel = {{.name = "weight", .shape = {4}}};

/// Runs a function with each of several connected communicators on a thread of its own.
template <class F>
void on_ranks(const gradstep::Context& context, int ranks, F&& function) {
  auto comms = gradstep::Communicator::local(context, ranks);
  std::vector<std::thread> threads;
  for (auto& comm : comms) threads.emplace_back([&] { function(comm); });
  for (std::thread& thread : threads) thread.join();
}

gradstep::Optimizer sgd(const gradstep::Context& context, double learning_rate = 1) {
  return gradstep::Optimizer::sgd(context, {.learning_rate = learning_rate}, kModel);
}

TEST(CppHowTo, MicroBatchesAreOneStep) {
  const gradstep::Context context;
  auto optimizer = sgd(context);
  Floats weight(4, 5);
  const Floats gradients[] = {{1, 2, 3, 4}, {3, 2, 1, 0}};
  const gradstep::TensorList params{weight};
  // docs:begin accumulate
  gradstep::Accumulator accumulator(context, {.mode = gradstep::AccumulationMode::kMean, .steps = 2}, kModel);
  for (const Floats& gradient : gradients) {  // one for each micro-batch
    if (accumulator.add(gradstep::ConstTensorList{gradient})) optimizer.step(params, accumulator.gradients());
  }
  // docs:end accumulate
  EXPECT_EQ(weight, (Floats{3, 3, 3, 3}));
}

TEST(CppHowTo, AnOverflowSkipsTheStepAndHalvesTheScale) {
  const gradstep::Context context;
  auto optimizer = sgd(context);
  Floats weight(4, 5);
  Floats scaled{1024, 2048, 0, 0};  // gradients of the scaled loss
  const gradstep::TensorList params{weight};
  const gradstep::ConstTensorList grads{scaled};
  double scale = 1024;
  const auto step = [&] {
    // docs:begin scaler
    const gradstep::StepResult result =
        optimizer.step(params, grads, {.skip_nonfinite = true, .grad_scale = 1 / scale, .max_norm = 100});
    if (result.applied == 0) scale /= 2;  // an overflow: nothing has changed
    // docs:end scaler
  };
  step();
  EXPECT_EQ(weight, (Floats{4, 3, 5, 5}));
  scaled[3] = std::numeric_limits<float>::infinity();
  step();
  EXPECT_EQ(weight, (Floats{4, 3, 5, 5}));
  EXPECT_EQ(scale, 512);
}

TEST(CppHowTo, ARunIsSavedAndResumed) {
  const gradstep::Context context;
  const auto folder = std::filesystem::temp_directory_path() / "gradstep_how_to_save";
  std::filesystem::create_directories(folder);
  const auto make = [&] { return gradstep::Optimizer::adam(context, {.learning_rate = 0.5}, kModel); };
  Floats weight(4, 5);
  const Floats gradient{1, 2, 3, 4};
  auto adam = make();
  adam.step(gradstep::TensorList{weight}, gradstep::ConstTensorList{gradient});
  // docs:begin save
  adam.save_file(folder / "adam.safetensors");
  auto resumed = make();  // with the options of the first one
  resumed.load_file(folder / "adam.safetensors");
  // docs:end save
  Floats copy = weight;
  adam.step(gradstep::TensorList{weight}, gradstep::ConstTensorList{gradient});
  resumed.step(gradstep::TensorList{copy}, gradstep::ConstTensorList{gradient});
  EXPECT_EQ(weight, copy);
  EXPECT_EQ(resumed.step_count(), 2);
  std::filesystem::remove_all(folder);
}

TEST(CppHowTo, EachRankKeepsAShareOfTheState) {
  const gradstep::Context context;
  on_ranks(context, 2, [&](gradstep::Communicator& comm) {
    auto adam = gradstep::Optimizer::adam(context, {.learning_rate = 1}, kModel);
    Floats weight(4, 5);
    const Floats gradient(4, static_cast<float>(1 + 2 * comm.rank()));
    const gradstep::TensorList params{weight};
    const gradstep::ConstTensorList grads{gradient};
    // docs:begin shard
    adam.shard(comm, {.average = gradstep::Average::kMean});  // this rank's share of the state, from here on
    adam.step(params, grads);                                 // collective: averages, steps, and gathers the parameters
    // docs:end shard
    EXPECT_FLOAT_EQ(weight[0], 4);
    Floats moment(4);
    adam.get_state(0, "exp_avg", moment);
    EXPECT_FLOAT_EQ(moment[3], 0.2F) << "0.1 of the mean gradient, 2";
  });
}

TEST(CppHowTo, ASparseReducerSendsTheLargest) {
  const gradstep::Context context;
  on_ranks(context, 2, [&](gradstep::Communicator& comm) {
    Floats weight(4, 5);
    const Floats gradient{1, 4, 2, 3};
    const gradstep::TensorList params{weight};
    const gradstep::ConstTensorList grads{gradient};
    const auto optimizer = sgd(context);
    // docs:begin sparse
    const gradstep::Reducer reducer(context, comm, {.mode = gradstep::ReducerMode::kSparseTopK, .sparsity = 0.25},
                                    kModel);
    gradstep::Updater updater(context, optimizer, nullptr, &reducer);
    updater.push(params, grads);
    // docs:end sparse
    EXPECT_EQ(weight, (Floats{5, 1, 5, 5}));
  });
}

TEST(CppHowTo, AdasumAddsWhatRanksDoNotAgreeOn) {
  const gradstep::Context context;
  on_ranks(context, 2, [&](gradstep::Communicator& comm) {
    Floats weight(4, 5);
    const Floats gradient{1, comm.rank() == 0 ? 1.0F : 0.0F, comm.rank() == 0 ? -1.0F : 0.0F, 0};
    const auto optimizer = sgd(context);
    // docs:begin adasum
    const gradstep::Reducer reducer(context, comm, {.mode = gradstep::ReducerMode::kAdasumTree}, kModel);
    gradstep::Updater updater(context, optimizer, nullptr, &reducer);
    // docs:end adasum
    updater.push(gradstep::TensorList{weight}, gradstep::ConstTensorList{gradient});
    // a (1 - ab / 2 aa) + b (1 - ab / 2 bb) with ab = 1, aa = 3, bb = 1
    EXPECT_FLOAT_EQ(weight[0], 5 - (5.0F / 6 + 0.5F));
    EXPECT_FLOAT_EQ(weight[1], 5 - 5.0F / 6);
  });
}

TEST(CppHowTo, SurvivorsOfALostRankGoOn) {
  const gradstep::Context context;
  auto survivors = gradstep::Communicator::local(context, 2);
  auto comms = gradstep::Communicator::local(context, 3);
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < comms.size(); ++rank) {
    threads.emplace_back([&, rank, comm = std::move(comms[rank])]() mutable {
      const auto optimizer = sgd(context);
      const gradstep::Accumulator accumulator(context, {}, kModel);
      Floats weight(4, 5);
      const Floats gradient{1, 2, 3, 4};
      const gradstep::TensorList params{weight};
      const gradstep::ConstTensorList grads{gradient};
      const gradstep::Reducer reducer(context, comm, {}, kModel);
      gradstep::Updater updater(context, optimizer, &accumulator, &reducer);
      if (rank == 2) return;  // its handles are gone: the others lose a peer
      // docs:begin recover
      try {
        updater.push(params, grads);         // ends the window
      } catch (const gradstep::PeerLost&) {  // and the same where it is a Timeout
        auto& left = survivors[rank];        // connected anew: the ranks that are left, another generation
        updater.recover(&left, params);
        updater.flush(params);  // finishes the window that failed, or finds it finished
      }
      // docs:end recover
      EXPECT_EQ(weight, (Floats{4, 3, 2, 1}));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(CppHowTo, RoundsOfLocalStepsMeetAnOuterOptimizer) {
  const gradstep::Context context;
  on_ranks(context, 2, [&](gradstep::Communicator& comm) {
    Floats weight(4, 8);
    const Floats gradient(4, static_cast<float>(1 + 2 * comm.rank()));
    const gradstep::TensorList params{weight};
    const gradstep::ConstTensorList grads{gradient};
    // docs:begin local_steps
    const auto inner = gradstep::Optimizer::sgd(context, {.learning_rate = 1}, kModel);
    const auto outer = gradstep::Optimizer::sgd(context, {.learning_rate = 0.5}, kModel);
    const gradstep::Reducer reducer(context, comm, {}, kModel);
    gradstep::Updater updater(context, inner, nullptr, &reducer,
                              {.sync = gradstep::UpdaterSync::kDeltas, .sync_steps = 2}, &outer);
    // docs:end local_steps
    updater.push(params, grads);
    updater.push(params, grads);
    EXPECT_EQ(weight, (Floats{6, 6, 6, 6})) << "half of the mean change, which is 4";
  });
}

}  // namespace
