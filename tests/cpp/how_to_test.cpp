// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What the pages of docs/how_to quote.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <gradstep/gradstep.hpp>
#include <limits>
#include <optional>
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

/// A folder of a test, which removes it.
std::filesystem::path new_folder(const std::string& name) {
  const auto folder = std::filesystem::temp_directory_path() / (name + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  return folder;
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
  const auto folder = new_folder("gradstep_how_to_save");
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

TEST(CppHowTo, StateOfTwoRanksIsResumedOnThree) {
  const gradstep::Context context;
  const auto folder = new_folder("gradstep_how_to_resume");
  const auto file = folder / "adam.safetensors";
  const Floats gradient{1, 2, 3, 4};  // reduced already: equal on all ranks
  const gradstep::ConstTensorList grads{gradient};
  Floats expected(4, 5);
  auto whole = gradstep::Optimizer::adam(context, {.learning_rate = 0.5}, kModel);
  whole.step(gradstep::TensorList{expected}, grads);
  const Floats saved = expected;
  whole.step(gradstep::TensorList{expected}, grads);
  on_ranks(context, 2, [&](gradstep::Communicator& comm) {
    Floats weight(4, 5);
    const gradstep::TensorList params{weight};
    // docs:begin save_shared
    // On two ranks:
    auto adam = gradstep::Optimizer::adam(context, {.learning_rate = 0.5}, kModel);
    adam.shard(comm, {.gradients = gradstep::ShardedGradients::kReduced});
    adam.step(params, grads);
    adam.save_file(file);  // collective; rank 0 writes the state of the whole
    // docs:end save_shared
    EXPECT_EQ(weight, saved);
  });
  on_ranks(context, 3, [&](gradstep::Communicator& comm) {
    Floats weight = saved;
    const gradstep::TensorList params{weight};
    // docs:begin resume_elsewhere
    // Later, on three:
    auto adam = gradstep::Optimizer::adam(context, {.learning_rate = 0.5}, kModel);
    adam.shard(comm, {.gradients = gradstep::ShardedGradients::kReduced});
    adam.load_file(file);  // collective; each rank keeps its share
    adam.step(params, grads);
    // docs:end resume_elsewhere
    EXPECT_EQ(weight, expected);
  });
  std::filesystem::remove_all(folder);
}

TEST(CppHowTo, EachRankStepsItsRowsOfAWhole) {
  const gradstep::Context context;
  on_ranks(context, 2, [&](gradstep::Communicator& comm) {
    const std::int64_t first_row = comm.rank();
    Floats rows{8, 8};
    const Floats gradient = first_row == 0 ? Floats{3, 0} : Floats{0, 4};
    const gradstep::TensorList params{gradstep::Tensor(rows, {1, 2})};
    const gradstep::ConstTensorList grads{gradstep::ConstTensor(gradient, {1, 2})};
    // docs:begin own_shards
    const gradstep::Parameters parts = {
        {.name = "matrix", .shape = {1, 2}, .whole_shape = {2, 2}, .offset = {first_row, 0}}};
    auto optimizer = gradstep::Optimizer::sgd(context, {.learning_rate = 1}, parts);
    optimizer.attach_shards(comm);
    optimizer.step(params, grads, {.max_norm = 2.5});  // clips by the norm of the whole
    // docs:end own_shards
    EXPECT_NEAR(rows[0] + rows[1], first_row == 0 ? 14.5 : 14, 1e-5) << "half of the gradient, whose norm is 5";
  });
}

TEST(CppHowTo, ShampooKeepsTheLengthOfAnAdamWsStep) {
  const gradstep::Context context;
  const gradstep::Parameters model = {{.name = "matrix", .shape = {2, 2}}};
  // docs:begin shampoo
  const gradstep::AdamWOptions recipe{.learning_rate = 0.02, .beta2 = 0.99, .weight_decay = 1e-4};
  gradstep::ShampooOptions options = gradstep::shampoo_from_adamw(recipe);
  options.preconditioning_compute_steps = 10;
  auto shampoo = gradstep::Optimizer::shampoo(context, options, model);
  options.eigenvalue_corrected = true;
  auto soap = gradstep::Optimizer::shampoo(context, options, model);
  // docs:end shampoo
  const auto last_length = [](gradstep::Optimizer& optimizer) {
    Floats weight(4, 5);
    Floats before;
    const Floats gradient{1, 2, 2, 4};
    for (int step = 0; step < 100; ++step) {
      before = weight;
      optimizer.step(gradstep::TensorList{gradstep::Tensor(weight, {2, 2})},
                     gradstep::ConstTensorList{gradstep::ConstTensor(gradient, {2, 2})});
    }
    double squares = 0;
    for (std::size_t i = 0; i < weight.size(); ++i) squares += std::pow(before[i] - weight[i], 2);
    return std::sqrt(squares);
  };
  gradstep::Optimizer adamw(context, recipe, model);
  EXPECT_NEAR(last_length(shampoo), last_length(adamw), 1e-4);
  EXPECT_EQ(soap.get_value("learning_rate"), recipe.learning_rate);
  EXPECT_GT(last_length(soap), 0);
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
  const auto folder = new_folder("gradstep_how_to_recover");
  auto comms = gradstep::Communicator::local(context, 3);
  std::vector<std::thread> threads;
  for (std::int32_t rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank, comm = std::move(comms[static_cast<std::size_t>(rank)])]() mutable {
      const auto optimizer = sgd(context);
      const gradstep::Accumulator accumulator(context, {}, kModel);
      Floats weight(4, 5);
      const Floats gradient{1, 2, 3, 4};
      const gradstep::TensorList params{weight};
      const gradstep::ConstTensorList grads{gradient};
      const gradstep::Reducer reducer(context, comm, {}, kModel);
      gradstep::Updater updater(context, optimizer, &accumulator, &reducer);
      if (rank == 2) return;  // its handles are gone: the others lose a peer
      const std::string store = folder.string();
      // docs:begin recover
      try {
        updater.push(params, grads);  // ends the window
      } catch (const gradstep::Error& lost) {
        if (lost.status() != GRADSTEP_ERR_PEER_LOST && lost.status() != GRADSTEP_ERR_TIMEOUT) throw;
        // Ranks 0 and 1 are left, which is your launcher's to know. Each communicator has another generation.
        gradstep::Communicator left(
            context, {.engine = "auto", .rank = rank, .world_size = 2, .store_path = store, .generation = 1});
        updater.recover(&left, params);
        updater.flush(params);  // finishes the window that failed, or finds it finished
      }
      // docs:end recover
      EXPECT_EQ(weight, (Floats{4, 3, 2, 1}));
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::filesystem::remove_all(folder);
}

TEST(CppHowTo, ANewcomerJoinsBetweenTwoWindows) {
  const gradstep::Context context;
  const auto folder = new_folder("gradstep_how_to_grow");
  const std::string store = folder.string();
  std::vector<Floats> weights(3, Floats(4, 5));
  std::vector<std::thread> threads;
  for (std::int32_t rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      const auto optimizer = sgd(context);
      const gradstep::TensorList params{weights[static_cast<std::size_t>(rank)]};
      const Floats gradient{1, 2, 3, 4};
      const gradstep::ConstTensorList grads{gradient};
      if (rank == 2) {
        // docs:begin join
        gradstep::Communicator alone(context, {.engine = "self"});  // a reducer over it says how this rank reduces
        const gradstep::Reducer reducer(context, alone, {}, kModel);
        gradstep::Updater updater(context, optimizer, nullptr, &reducer);
        gradstep::Communicator comm(
            context, {.engine = "auto", .rank = rank, .world_size = 3, .store_path = store, .generation = 1});
        updater.recover(&comm, params);  // parameters, state and step count are theirs from here on
        // docs:end join
        updater.push(params, grads);
        return;
      }
      gradstep::Communicator comm(context, {.engine = "auto", .rank = rank, .world_size = 2, .store_path = store});
      const gradstep::Reducer reducer(context, comm, {}, kModel);
      gradstep::Updater updater(context, optimizer, nullptr, &reducer);
      std::optional<gradstep::Communicator> grown;
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
      while (!grown) {
        ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "no newcomer came";
        // docs:begin grow
        updater.push(params, grads);
        const gradstep::CommOptions larger = {
            .engine = "auto", .rank = rank, .world_size = 3, .store_path = store, .generation = 1};
        if (gradstep::Communicator::pending(larger, &comm) == 1) {  // newcomers that wait, the same on all ranks
          grown.emplace(context, larger);
          updater.recover(&*grown, params);
        }
        // docs:end grow
      }
      updater.push(params, grads);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LT(weights[0][0], 4) << "a step before the newcomer came, and one with it";
  EXPECT_EQ(weights[1], weights[0]);
  EXPECT_EQ(weights[2], weights[0]);
  std::filesystem::remove_all(folder);
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
