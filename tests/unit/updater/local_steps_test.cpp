// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Steps before exchanges: deltas, whole parameters, one partition at a time; SGD with rate 1 makes a step the gradient.
#include <cstring>

#include "optim/first_order/first_order_optimizer.h"
#include "optim/first_order/typed_options.h"
#include "unit/host_calls.h"
#include "unit/memory_stream.h"
#include "unit/ranks.h"
#include "updater/updater.h"

namespace gradstep::test {
namespace {

struct Chain {
  std::shared_ptr<Context> context = make_context();
  std::shared_ptr<FirstOrderOptimizer> optimizer;
  std::shared_ptr<Reducer> reducer;
  std::unique_ptr<Updater> updater;
  // Three partitions, in the order in which they are averaged: third, second, first.
  std::vector<TestTensor<float>> params;

  Chain(Communicator& comm, gradstep_updater_options options, gradstep_reducer_options reduction, double momentum = 0) {
    const Schema schema = make_schema({{2}, {2}, {2}});
    auto sgd = default_options<gradstep_sgd_options>();
    sgd.learning_rate = 1;
    sgd.momentum = momentum;
    optimizer = std::make_shared<FirstOrderOptimizer>(context, make_rule(sgd), schema);
    reduction.fuse_threshold = 1;
    reducer = std::make_shared<Reducer>(context, comm, reduction, schema);
    updater = std::make_unique<Updater>(context, optimizer, nullptr, reducer, options);
    for (int i = 0; i < 3; ++i) params.emplace_back(std::vector<std::int64_t>{2}, 100.0F);
  }

  std::vector<gradstep_tensor> views() {
    std::vector<gradstep_tensor> list;
    for (auto& param : params) list.push_back(param.tensor());
    return list;
  }
  bool push(float gradient) {
    std::vector<TestTensor<float>> grads(3, TestTensor<float>({2}, gradient));
    std::vector<gradstep_tensor> g;
    for (auto& grad : grads) g.push_back(grad.tensor());
    const auto p = views();
    return host::push(*updater, p.data(), g.data(), 3, 1);
  }
  bool flush() {
    const auto p = views();
    return host::flush(*updater, p.data(), 3);
  }
  std::vector<float> firsts() const { return {params[0].values[0], params[1].values[0], params[2].values[0]}; }
};

using Firsts = std::vector<float>;

gradstep_updater_options sync_options(std::int32_t sync, std::int32_t steps = 1) {
  auto options = default_updater_options();
  options.sync = sync;
  options.sync_steps = steps;
  return options;
}

// SINGA: every parameter is stepped with the local gradient, undivided, then one partition is averaged, in turn.
TEST(LocalSteps, PartitionsAreAveragedInTurn) {
  run_ranks(2, [](Communicator& comm) {
    Chain chain(comm, sync_options(GRADSTEP_SYNC_PARAMETERS_PARTIAL), default_reducer_options());
    const float g = comm.rank() == 0 ? 1 : 3;  // the average is 2
    EXPECT_TRUE(chain.push(g));
    EXPECT_EQ(chain.firsts(), (Firsts{100 - g, 100 - g, 98}));
    EXPECT_TRUE(chain.push(g));
    EXPECT_EQ(chain.firsts(), (Firsts{100 - 2 * g, 96, 98 - g}));
    EXPECT_TRUE(chain.push(g));
    EXPECT_EQ(chain.firsts(), (Firsts{94, 96 - g, 98 - 2 * g}));
    EXPECT_TRUE(chain.push(g));
    EXPECT_EQ(chain.firsts(), (Firsts{94 - g, 96 - 2 * g, 92})) << "it starts over";
  });
}

TEST(LocalSteps, PartitionsTravelAlone) {
  run_ranks(2, [](Communicator& comm) {
    Chain chain(comm, sync_options(GRADSTEP_SYNC_PARAMETERS_PARTIAL, 2), default_reducer_options());
    for (int step = 0; step < 4; ++step) chain.push(1);
    std::vector<std::int64_t> exchanges;
    for (const auto& bucket : chain.reducer->bucket_stats()) exchanges.push_back(bucket.exchanges);
    EXPECT_EQ(exchanges, (std::vector<std::int64_t>{1, 1, 0})) << "one bucket every second step";
  });
}

TEST(LocalSteps, WholeParametersAreAveragedEveryHSteps) {
  run_ranks(2, [](Communicator& comm) {
    Chain chain(comm, sync_options(GRADSTEP_SYNC_PARAMETERS, 3), default_reducer_options());
    const float g = comm.rank() == 0 ? 1 : 3;
    chain.push(g);
    chain.push(g);
    EXPECT_EQ(chain.firsts(), Firsts(3, 100 - 2 * g));
    chain.push(g);
    EXPECT_EQ(chain.firsts(), Firsts(3, 94));
    chain.push(g);
    EXPECT_EQ(chain.firsts(), Firsts(3, 94 - g));
  });
}

TEST(LocalSteps, DeltasAreReducedByTheReducersMode) {
  run_ranks(2, [](Communicator& comm) {
    const float g = comm.rank() == 0 ? 1 : 3;
    Chain mean(comm, sync_options(GRADSTEP_SYNC_DELTAS), default_reducer_options());
    mean.push(g);
    EXPECT_EQ(mean.firsts(), Firsts(3, 98));
    auto adasum = default_reducer_options();
    adasum.mode = GRADSTEP_REDUCER_ADASUM_TREE;
    Chain tree(comm, sync_options(GRADSTEP_SYNC_DELTAS), adasum);
    tree.push(g);  // parallel deltas are averaged
    EXPECT_EQ(tree.firsts(), Firsts(3, 98));
  });
}

// With momentum the deltas of the second step are not its gradients: Horovod's Adasum optimizer combines the former.
TEST(LocalSteps, DeltasCarryTheLocalMomentum) {
  run_ranks(2, [](Communicator& comm) {
    const float g = comm.rank() == 0 ? 1 : 3;
    Chain chain(comm, sync_options(GRADSTEP_SYNC_DELTAS), default_reducer_options(), 0.5);
    chain.push(g);
    chain.push(g);
    EXPECT_EQ(chain.firsts(), Firsts(3, 100 - 2 - 3)) << "g, then 1.5 g, averaged";
  });
}

TEST(LocalSteps, ANonFiniteGradientOfOneRankMakesNoStepOnAny) {
  run_ranks(2, [](Communicator& comm) {
    for (const std::int32_t sync : {GRADSTEP_SYNC_DELTAS, GRADSTEP_SYNC_PARAMETERS}) {
      auto options = sync_options(sync);
      options.skip_nonfinite = 1;
      Chain chain(comm, options, default_reducer_options());
      EXPECT_FALSE(chain.push(comm.rank() == 0 ? 1 : std::numeric_limits<float>::infinity()));
      EXPECT_EQ(chain.firsts(), Firsts(3, 100));
      EXPECT_EQ(chain.optimizer->step_count(), 0);
      EXPECT_TRUE(chain.push(2));
      EXPECT_EQ(chain.firsts(), Firsts(3, 98));
    }
  });
}

TEST(LocalSteps, AFailedExchangeKeepsWhatTheSyncPromises) {
  for (const std::int32_t sync : {GRADSTEP_SYNC_DELTAS, GRADSTEP_SYNC_PARAMETERS, GRADSTEP_SYNC_PARAMETERS_PARTIAL}) {
    std::vector<std::unique_ptr<Chain>> chains(2);
    run_ranks(
        2,
        [&](Communicator& comm) {
          auto& chain = chains[static_cast<std::size_t>(comm.rank())];
          chain = std::make_unique<Chain>(comm, sync_options(sync), default_reducer_options());
          chain->push(2);
          const Firsts before = chain->firsts();
          comm.barrier(comm.deadline());
          if (comm.rank() == 1) chain->reducer->comm().abort();
          const bool is_delta = sync == GRADSTEP_SYNC_DELTAS;
          try {
            chain->push(2);
            ADD_FAILURE() << "the exchange cannot have succeeded";
          } catch (const Error& error) {
            EXPECT_NE(std::string(error.what()).find(is_delta ? "one step ahead" : "local step stands"),
                      std::string::npos);
          }
          EXPECT_EQ(chain->optimizer->step_count(), 2);
          Firsts expected = before;
          for (float& x : expected) x -= is_delta ? 0 : 2;
          EXPECT_EQ(chain->firsts(), expected);
        },
        2000);
    // The survivors connect anew; a flush finishes the exchange without a further step.
    run_ranks(2, [&](Communicator& comm) {
      Chain& chain = *chains[static_cast<std::size_t>(comm.rank())];
      const auto views = chain.views();
      host::recover(*chain.updater, &comm, views.data(), 3);
      EXPECT_TRUE(chain.flush());
      EXPECT_EQ(chain.firsts(), Firsts(3, 96));
      EXPECT_EQ(chain.optimizer->step_count(), 2);
      EXPECT_FALSE(chain.flush()) << "nothing is left";
    });
  }
}

TEST(LocalSteps, AFailedExchangeIsFinishedAloneAndNotSavedBefore) {
  for (const std::int32_t sync : {GRADSTEP_SYNC_DELTAS, GRADSTEP_SYNC_PARAMETERS}) {
    run_ranks(
        2,
        [&](Communicator& comm) {
          Chain chain(comm, sync_options(sync), default_reducer_options());
          comm.barrier(comm.deadline());
          if (comm.rank() == 1) chain.reducer->comm().abort();
          EXPECT_THROW(chain.push(2), Error);
          const auto views = chain.views();
          host::recover(*chain.updater, nullptr, views.data(), 3);
          expect_error(GRADSTEP_ERR_INVALID_STATE, "flush finishes it", [&] { chain.updater->saved().save(); });
          EXPECT_TRUE(chain.flush());
          EXPECT_EQ(chain.firsts(), Firsts(3, 98)) << "the step stands once";
          EXPECT_EQ(chain.optimizer->step_count(), 1);
          EXPECT_FALSE(chain.flush());
          EXPECT_NO_THROW(chain.updater->saved().save());
          EXPECT_TRUE(chain.push(2));
          EXPECT_EQ(chain.firsts(), Firsts(3, 96));
        },
        2000);
  }
}

// One rank has averaged a partition more than the other when they meet.
TEST(LocalSteps, RecoveredRanksGoOnWithTheSamePartition) {
  run_ranks(2, [](Communicator& comm) {
    const auto alone = make_local_communicators(make_context(), 1, {});
    Chain chain(*alone[0], sync_options(GRADSTEP_SYNC_PARAMETERS_PARTIAL), default_reducer_options());
    for (int step = 0; step <= comm.rank(); ++step) chain.push(1);
    const auto views = chain.views();
    host::recover(*chain.updater, &comm, views.data(), 3);
    const float start = chain.firsts()[0];
    const float g = comm.rank() == 0 ? 1 : 3;
    chain.push(g);
    EXPECT_EQ(chain.firsts(), (Firsts{start - 2, start - g, start - g})) << "rank 1's next one: the first";
  });
}

TEST(LocalSteps, ARankThatWasAloneForAWhileGoesOnWithTheSamePartitions) {
  run_ranks(2, [](Communicator& comm) {
    Chain chain(comm, sync_options(GRADSTEP_SYNC_PARAMETERS_PARTIAL), default_reducer_options());
    const auto views = chain.views();
    chain.push(1);
    chain.push(1);
    host::recover(*chain.updater, nullptr, views.data(), 3);
    chain.push(1);
    host::recover(*chain.updater, &comm, views.data(), 3);
    const float g = comm.rank() == 0 ? 1 : 3;
    chain.push(g);
    EXPECT_EQ(chain.firsts(), (Firsts{95, 97 - g, 97 - g}))
        << "the third one in turn, the first parameter, and no other";
  });
}

TEST(LocalSteps, TheReducersOptionsStayWhileThereIsNone) {
  run_ranks(2, [](Communicator& comm) {
    auto sum = default_reducer_options();
    sum.average = GRADSTEP_AVERAGE_SUM;
    Chain chain(comm, default_updater_options(), sum);
    const auto views = chain.views();
    host::recover(*chain.updater, nullptr, views.data(), 3);
    host::recover(*chain.updater, &comm, views.data(), 3);
    chain.push(1);
    EXPECT_EQ(chain.firsts(), Firsts(3, 98)) << "of two gradients of 1";
  });
}

/// The file has three partitions; a reducer that recover makes where there never was one has one.
TEST(LocalSteps, APartitionThatTheNewReducerDoesNotHaveIsAMismatch) {
  const auto options = sync_options(GRADSTEP_SYNC_PARAMETERS_PARTIAL);
  std::string bytes;
  run_ranks(2, [&](Communicator& comm) {
    Chain chain(comm, options, default_reducer_options());
    chain.push(1);
    chain.push(1);
    const auto parts = chain.updater->saved().save();
    Memory memory;
    write_state_file(comm.rank() == 0 ? &memory : nullptr, "updater", parts);
    if (comm.rank() == 0) bytes = memory.bytes;
  });
  run_ranks(2, [&](Communicator& comm) {
    Chain chain(comm, options, default_reducer_options());
    const auto views = chain.views();
    Updater loaded(chain.context, chain.optimizer, nullptr, nullptr, options);
    loaded.saved().load(read_bytes(bytes))();
    expect_error(GRADSTEP_ERR_MISMATCH, "stands at partition 2 of the parameters, and its reducer has 1",
                 [&] { host::recover(loaded, &comm, views.data(), 3); });
    EXPECT_EQ(chain.optimizer->step_count(), 2) << "nothing has changed";
    chain.updater->saved().load(read_bytes(bytes))();
    chain.push(comm.rank() == 0 ? 1 : 3);
    EXPECT_EQ(chain.firsts()[0], 98);
  });
}

TEST(LocalSteps, WhatCannotBeAveragedIsRefused) {
  run_ranks(1, [](Communicator& comm) {
    auto half = default_reducer_options();
    half.mode = GRADSTEP_REDUCER_HALF;
    auto sum = default_reducer_options();
    sum.average = GRADSTEP_AVERAGE_SUM;
    expect_error(GRADSTEP_ERR_UNSUPPORTED, "dense", [&] { Chain(comm, sync_options(GRADSTEP_SYNC_PARAMETERS), half); });
    expect_error(GRADSTEP_ERR_UNSUPPORTED, "sums", [&] { Chain(comm, sync_options(GRADSTEP_SYNC_PARAMETERS), sum); });
    expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "options.sync_steps: is 0",
                 [&] { Chain(comm, sync_options(GRADSTEP_SYNC_PARAMETERS, 0), default_reducer_options()); });
    expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "options.sync: is 4",
                 [&] { Chain(comm, sync_options(4), default_reducer_options()); });
  });
}

}  // namespace
}  // namespace gradstep::test
