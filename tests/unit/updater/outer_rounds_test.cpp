// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// DiLoCo: rounds of local steps, and the outer step after each.
#include <array>
#include <limits>

#include "tests/unit/updater/round_replica.h"
#include "unit/failing_loops.h"

namespace gradstep::test {
namespace {

TEST(OuterRounds, TheOuterOptimizerStepsByTheMeanChangeOfARound) {
  run_ranks(2, [](Communicator& comm) {
    RoundReplica replica(&comm, {});
    const float g = comm.rank() == 0 ? 1 : 3;
    EXPECT_TRUE(replica.push(g));
    EXPECT_TRUE(replica.push(g));
    EXPECT_EQ(replica.first(), 100 - 2 * g) << "each rank's own steps";
    EXPECT_EQ(replica.exchanges(), 0) << "nothing travels inside of a round";
    EXPECT_TRUE(replica.push(g));
    EXPECT_FLOAT_EQ(replica.first(), by_nesterov({6}));
    EXPECT_EQ(replica.exchanges(), 3) << "one for each bucket";
    for (int i = 0; i < 3; ++i) replica.push(g);
    EXPECT_FLOAT_EQ(replica.first(), by_nesterov({6, 6}));
    EXPECT_EQ(replica.inner->step_count(), 6);
    EXPECT_EQ(replica.outer->step_count(), 2);
    EXPECT_EQ(replica.updater->stats().steps, 6);
    expect_equal_on_all(comm, replica.numbers());
  });
}

TEST(OuterRounds, RateOneWithoutMomentumAveragesParameters) {
  run_ranks(3, [](Communicator& comm) {
    RoundSetup setup;
    setup.plain_outer = true;
    RoundReplica replica(&comm, setup);
    auto options = default_updater_options();
    options.sync = GRADSTEP_SYNC_PARAMETERS;
    options.sync_steps = 3;
    RoundReplica averaged(&comm, setup);
    averaged.updater =
        std::make_unique<Updater>(averaged.context, averaged.inner, nullptr, averaged.reducer, options, nullptr);
    for (std::uint32_t i = 0; i < 7; ++i) {
      replica.push_numbers(comm.rank(), i);
      averaged.push_numbers(comm.rank(), i);
    }
    const auto a = replica.numbers();
    const auto b = averaged.numbers();
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-4) << i;
  });
}

TEST(OuterRounds, EveryReducerModeCarriesTheChange) {
  for (std::int32_t mode = GRADSTEP_REDUCER_DENSE; mode <= GRADSTEP_REDUCER_FP8_E5M2; ++mode) {
    SCOPED_TRACE(mode);
    run_ranks(2, [&](Communicator& comm) {
      RoundSetup setup;
      setup.reducer_mode = mode;
      setup.length = 2;
      RoundReplica replica(&comm, setup);
      for (std::uint32_t i = 0; i < 8; ++i) EXPECT_TRUE(replica.push_numbers(comm.rank(), i));
      expect_equal_on_all(comm, replica.numbers());
      EXPECT_EQ(replica.outer->step_count(), 4);
      EXPECT_NE(replica.first(), 100);
    });
  }
}

TEST(OuterRounds, AloneItLooksAhead) {
  RoundSetup setup;
  setup.length = 2;
  RoundReplica replica(nullptr, setup);
  replica.push(1);
  EXPECT_EQ(replica.first(), 99);
  replica.push(2);
  EXPECT_FLOAT_EQ(replica.first(), by_nesterov({3}));
}

TEST(OuterRounds, AWindowOfMicroBatchesIsOneLocalStep) {
  run_ranks(2, [](Communicator& comm) {
    RoundSetup setup;
    setup.length = 2;
    setup.micro_batches = 2;
    RoundReplica replica(&comm, setup);
    for (int i = 0; i < 3; ++i) replica.push(2);
    EXPECT_EQ(replica.first(), 98);
    EXPECT_TRUE(replica.push(2));
    EXPECT_FLOAT_EQ(replica.first(), by_nesterov({4}));
  });
}

TEST(OuterRounds, RanksAreWeighedByTheMeanOfTheirWindows) {
  run_ranks(2, [](Communicator& comm) {
    RoundSetup setup;
    setup.length = 2;
    setup.plain_outer = true;
    setup.average = GRADSTEP_AVERAGE_WEIGHTED;
    RoundReplica replica(&comm, setup);
    const bool is_first = comm.rank() == 0;
    replica.push(is_first ? 1 : 5, is_first ? 2 : 1);
    replica.push(is_first ? 1 : 5, is_first ? 4 : 1);  // weights 3 and 1
    EXPECT_FLOAT_EQ(replica.first(), 100 - (3 * 2 + 1 * 10) / 4.0F);
  });
}

TEST(OuterRounds, StatesOfTheInnerOptimizersStayLocal) {
  run_ranks(2, [](Communicator& comm) {
    RoundSetup setup;
    setup.length = 2;
    setup.inner_momentum = 0.9;
    setup.plain_outer = true;
    RoundReplica replica(&comm, setup);
    const float g = comm.rank() == 0 ? 1 : 3;
    replica.push(g);
    replica.push(g);
    const float end = 100 - 2.9F * 2;
    EXPECT_FLOAT_EQ(replica.first(), end);
    replica.push(0.0F);
    EXPECT_FLOAT_EQ(replica.first(), end - 0.9F * 1.9F * g) << "by the momentum of its own gradients";
  });
}

TEST(OuterRounds, ARankSkipsAnInfiniteLocalStepByItself) {
  run_ranks(2, [](Communicator& comm) {
    RoundSetup setup;
    setup.length = 2;
    setup.plain_outer = true;
    setup.skips_nonfinite = true;
    RoundReplica replica(&comm, setup);
    const bool applied = replica.push(comm.rank() == 0 ? 2 : std::numeric_limits<float>::infinity());
    EXPECT_EQ(applied, comm.rank() == 0 || replica.decides_later());
    EXPECT_EQ(replica.exchanges(), 0);
    EXPECT_TRUE(replica.push(2));
    EXPECT_FLOAT_EQ(replica.first(), 100 - 3) << "changes 4 and 2";
    EXPECT_EQ(replica.updater->stats().skipped_steps, comm.rank());
    replica.push(2);
    EXPECT_TRUE(replica.push(std::numeric_limits<float>::infinity())) << "the outer step is made";
    EXPECT_EQ(replica.updater->stats().skipped_steps, comm.rank() + 1) << "of the local steps";
    EXPECT_EQ(replica.outer->step_count(), 2);
  });
}

TEST(OuterRounds, AChangeThatIsNotFiniteLeadsBackToTheStart) {
  run_ranks(2, [](Communicator& comm) {
    RoundSetup setup;
    setup.length = 2;
    setup.skips_nonfinite = true;
    RoundReplica replica(&comm, setup);
    replica.push(1);
    if (comm.rank() == 1) replica.params[1].values[7] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_EQ(replica.push(1), replica.decides_later());
    EXPECT_EQ(replica.numbers(), std::vector<float>(replica.numbers().size(), 100));
    EXPECT_EQ(replica.outer->step_count(), 0);
    replica.push(1);
    EXPECT_TRUE(replica.push(1));
    EXPECT_FLOAT_EQ(replica.first(), by_nesterov({2}));
  });
}

TEST(OuterRounds, AFailedExchangeIsRetriedAlone) {
  for (const std::int32_t mode : {GRADSTEP_REDUCER_DENSE, GRADSTEP_REDUCER_SPARSE_TOPK, GRADSTEP_REDUCER_INT8}) {
    RoundSetup setup;
    setup.length = 2;
    setup.reducer_mode = mode;
    std::vector<std::unique_ptr<RoundReplica>> replicas(2);
    std::vector<float> undisturbed;
    run_ranks(2, [&](Communicator& comm) {
      RoundReplica replica(&comm, setup);
      for (std::uint32_t i = 0; i < 6; ++i) replica.push_numbers(comm.rank(), i);
      if (comm.rank() == 0) undisturbed = replica.numbers();
    });
    run_ranks(
        2,
        [&](Communicator& comm) {
          auto& replica = replicas[static_cast<std::size_t>(comm.rank())];
          replica = std::make_unique<RoundReplica>(&comm, setup);
          for (std::uint32_t i = 0; i < 3; ++i) replica->push_numbers(comm.rank(), i);
          comm.barrier(comm.deadline());
          if (comm.rank() == 1) replica->reducer->comm().abort();
          try {
            replica->push_numbers(comm.rank(), 3);
            ADD_FAILURE() << "the exchange cannot have succeeded";
          } catch (const Error& error) {
            EXPECT_NE(std::string(error.what()).find("local step stands"), std::string::npos) << error.what();
          }
          EXPECT_EQ(replica->inner->step_count(), 4);
          EXPECT_EQ(replica->outer->step_count(), 1);
          expect_error(GRADSTEP_ERR_INVALID_STATE, "flush", [&] { replica->push(1); });
        },
        2000);
    run_ranks(2, [&](Communicator& comm) {
      RoundReplica& replica = *replicas[static_cast<std::size_t>(comm.rank())];
      replica.recover(&comm);
      EXPECT_TRUE(replica.flush());
      EXPECT_FALSE(replica.flush()) << "nothing is left";
      EXPECT_EQ(replica.outer->step_count(), 2);
      for (std::uint32_t i = 4; i < 6; ++i) replica.push_numbers(comm.rank(), i);
      EXPECT_EQ(replica.numbers(), undisturbed);
    });
  }
}

TEST(OuterRounds, ARankThatCannotStepIsHeardOfWhereTheRoundEnds) {
  run_ranks(2, [](Communicator& comm) {
    RoundSetup setup;
    setup.length = 2;
    RoundReplica replica(&comm, setup);
    FlakyRate rate;
    replica.inner->set_schedule(-1, "learning_rate", rate.schedule());
    replica.push(1);
    rate.fails = comm.rank() == 1;
    if (rate.fails) {
      expect_error(GRADSTEP_ERR_CALLBACK, "schedule", [&] { replica.push(1); });
    } else {
      expect_error(GRADSTEP_ERR_ABORTED, "rank 1 could not begin the step", [&] { replica.push(1); });
    }
    rate.fails = false;
    comm.barrier(comm.deadline());
    if (comm.rank() == 1) {
      EXPECT_TRUE(replica.push(1));
    } else {
      EXPECT_TRUE(replica.flush());
    }
    EXPECT_FLOAT_EQ(replica.first(), by_nesterov({2}));
    expect_equal_on_all(comm, replica.numbers());
  });
}

/// Before, in and after the outer step: what has been done is not done again.
TEST(OuterRounds, AnyLoopMayFailAndIsRetriedAlone) {
  int failing = 0;
  for (bool fails = true; fails;) {
    FailingLoops loops;
    RoundSetup setup;
    setup.length = 1;
    setup.shapes = {{100'000}};  // of several chunks
    RoundReplica replica(nullptr, setup, loops.make());
    if (replica.decides_later()) GTEST_SKIP() << "a device has no loops of the host's";
    loops = {.calls = 0, .failing = ++failing};
    bool applied = false;
    try {
      applied = replica.push(2);
      fails = false;
    } catch (const Error& failure) {
      EXPECT_EQ(failure.status(), GRADSTEP_ERR_CALLBACK) << failure.what();
      try {
        applied = replica.flush();
      } catch (const Error&) {  // the local step has failed, and nothing was kept of the gradients
        applied = replica.push(2);
      }
    }
    EXPECT_TRUE(applied);
    EXPECT_FLOAT_EQ(replica.first(), by_nesterov({2})) << "loop " << failing;
    EXPECT_EQ(replica.outer->step_count(), 1) << "loop " << failing;
  }
  EXPECT_GT(failing, 4) << "the local step, the change, the outer step and the copies";
}

TEST(OuterRounds, RanksAgreeOnTheOuterOptimizer) {
  run_ranks(2, [](Communicator& comm) {
    RoundSetup setup;
    setup.length = 1;
    if (comm.rank() == 1) setup.outer_rate = 0.5;
    RoundReplica replica(&comm, setup);
    expect_error(GRADSTEP_ERR_MISMATCH, "learning_rate", [&] { replica.push(1); });
    EXPECT_EQ(replica.outer->step_count(), 0);
  });
  run_ranks(2, [](Communicator& comm) {
    RoundSetup setup;
    setup.length = 1;
    setup.plain_outer = comm.rank() == 1;
    RoundReplica replica(&comm, setup);
    expect_error(GRADSTEP_ERR_MISMATCH, "outer optimizer", [&] { replica.push(1); });
  });
}

TEST(OuterRounds, ARoundIsSavedInItsMiddleAndResumed) {
  for (const std::int32_t mode : {GRADSTEP_REDUCER_DENSE, GRADSTEP_REDUCER_INT8}) {
    RoundSetup setup;
    setup.reducer_mode = mode;
    setup.inner_momentum = 0.9;
    if (mode == GRADSTEP_REDUCER_DENSE) setup.average = GRADSTEP_AVERAGE_WEIGHTED;
    std::string bytes;
    std::vector<std::vector<TestTensor<float>>> middle(2);
    std::vector<float> end;
    run_ranks(2, [&](Communicator& comm) {
      RoundReplica replica(&comm, setup);
      for (std::uint32_t i = 0; i < 5; ++i) replica.push_numbers(comm.rank(), i);
      const std::string saved = replica.save(comm);
      if (comm.rank() == 0) bytes = saved;
      middle[static_cast<std::size_t>(comm.rank())] = replica.params;
      for (std::uint32_t i = 5; i < 9; ++i) replica.push_numbers(comm.rank(), i);
      if (comm.rank() == 0) end = replica.numbers();
    });
    run_ranks(2, [&](Communicator& comm) {
      RoundReplica replica(&comm, setup);
      replica.updater->saved().load(read_bytes(bytes))();
      replica.params = middle[static_cast<std::size_t>(comm.rank())];
      for (std::uint32_t i = 5; i < 9; ++i) replica.push_numbers(comm.rank(), i);
      EXPECT_EQ(replica.numbers(), end);
    });
    // Other numbers of ranks go on with the start and the outer state that all had.
    for (const std::int32_t ranks : {1, 3}) {
      run_ranks(ranks, [&](Communicator& comm) {
        RoundReplica replica(&comm, setup);
        replica.updater->saved().load(read_bytes(bytes))();
        EXPECT_EQ(replica.outer->step_count(), 1);
        replica.params = middle[static_cast<std::size_t>(comm.rank() % 2)];
        replica.push_numbers(comm.rank(), 5);
        EXPECT_EQ(replica.outer->step_count(), 2);
        expect_equal_on_all(comm, replica.numbers());
      });
    }
    RoundReplica without(nullptr, setup);
    without.updater =
        std::make_unique<Updater>(without.context, without.inner, nullptr, nullptr, default_updater_options(), nullptr);
    expect_error(GRADSTEP_ERR_MISMATCH, "an outer optimizer, this one has none",
                 [&] { without.updater->saved().load(read_bytes(bytes)); });
  }
}

TEST(OuterRounds, ARankThatIsARoundBehindTakesTheOthersPlace) {
  run_ranks(2, [](Communicator& comm) {
    RoundSetup setup;
    setup.length = 2;
    RoundReplica replica(nullptr, setup);
    const std::uint32_t alone = comm.rank() == 0 ? 3 : 5;  // one round, two, and a step of the next
    for (std::uint32_t i = 0; i < alone; ++i) replica.push_numbers(1, i);
    const std::vector<float> before = replica.numbers();
    replica.recover(&comm);
    EXPECT_EQ(replica.outer->step_count(), 2);
    expect_equal_on_all(comm, replica.numbers());
    if (comm.rank() == 1) {
      EXPECT_EQ(replica.numbers(), before);
    }
    replica.push_numbers(1, 5);
    EXPECT_EQ(replica.outer->step_count(), 3) << "the third round ends with its second window";
    expect_equal_on_all(comm, replica.numbers());
    // The outcome is that of a rank that was never disturbed.
    RoundReplica undisturbed(nullptr, setup);
    for (std::uint32_t i = 0; i < 6; ++i) undisturbed.push_numbers(1, i);
    const auto got = replica.numbers();
    const auto want = undisturbed.numbers();
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-4) << i;
  });
}

TEST(OuterRounds, ARecoveryInTheMiddleOfARoundKeepsLocalSteps) {
  run_ranks(2, [](Communicator& comm) {
    RoundReplica replica(&comm, {});
    const float g = comm.rank() == 0 ? 1 : 3;
    replica.push(g);
    replica.push(g);
    replica.recover(&comm);
    EXPECT_EQ(replica.first(), 100 - 2 * g);
    replica.push(g);
    EXPECT_FLOAT_EQ(replica.first(), by_nesterov({6}));
  });
}

TEST(OuterRounds, AnOuterOptimizerThatIsShardedMakesTheSameSteps) {
  run_ranks(3, [](Communicator& comm) {
    RoundReplica whole(&comm, {});
    RoundReplica sharded(&comm, {});
    sharded.outer->attach(&comm, {});
    for (std::uint32_t i = 0; i < 7; ++i) {
      whole.push_numbers(comm.rank(), i);
      sharded.push_numbers(comm.rank(), i);
    }
    EXPECT_EQ(whole.numbers(), sharded.numbers());
    const std::string bytes = sharded.save(comm);
    const auto middle = sharded.params;
    for (std::uint32_t i = 7; i < 9; ++i) sharded.push_numbers(comm.rank(), i);
    std::int64_t size = static_cast<std::int64_t>(bytes.size());
    comm.broadcast(&size, sizeof size, 0, comm.deadline());
    std::string all = bytes;
    all.resize(static_cast<std::size_t>(size));
    comm.broadcast(all.data(), size, 0, comm.deadline());
    RoundReplica resumed(&comm, {});
    resumed.outer->attach(&comm, {});
    resumed.updater->saved().load(read_bytes(all))();
    resumed.params = middle;
    for (std::uint32_t i = 7; i < 9; ++i) resumed.push_numbers(comm.rank(), i);
    EXPECT_EQ(resumed.numbers(), sharded.numbers());
  });
}

/// Two hosts of two ranks: inside a host the optimizer's state is spread, between hosts changes travel.
TEST(OuterRounds, AnInnerOptimizerThatIsShardedInsideAHost) {
  const auto hosts =
      std::array{make_local_communicators(make_context(), 2, {}), make_local_communicators(make_context(), 2, {})};
  const auto between =
      std::array{make_local_communicators(make_context(), 2, {}), make_local_communicators(make_context(), 2, {})};
  run_ranks(4, [&](Communicator& comm) {
    const auto host = static_cast<std::size_t>(comm.rank() / 2);
    const auto place = static_cast<std::size_t>(comm.rank() % 2);
    RoundReplica replica(between[place][host].get(), {});
    replica.inner->attach(hosts[host][place].get(), {});
    const float g = comm.rank() < 2 ? 1 + 2 * static_cast<float>(place) : 6;  // 2 on the first host, 6 on the second
    replica.push(g);
    replica.push(g);
    EXPECT_EQ(replica.first(), host == 0 ? 96 : 88);
    replica.push(g);
    EXPECT_FLOAT_EQ(replica.first(), by_nesterov({12}));
    expect_equal_on_all(comm, replica.numbers());
    expect_error(GRADSTEP_ERR_UNSUPPORTED, "spread over ranks of its own", [&] { replica.updater->saved().save(); });
    expect_error(GRADSTEP_ERR_INVALID_STATE, "spread over other ranks", [&] { replica.recover(&comm); });
  });
}

TEST(OuterRounds, MasterWeightsFollowTheOuterStep) {
  run_ranks(2, [](Communicator& comm) {
    const auto context = make_context();
    const Schema schema = make_schema({{4}}, DType::bf16);
    auto options = default_updater_options();
    options.sync = GRADSTEP_SYNC_DELTAS;
    options.sync_steps = 2;
    const auto reducer = std::make_shared<Reducer>(context, comm, default_reducer_options(), schema);
    Updater updater(context, sgd_of(context, schema, 1, 0, false, true), nullptr, reducer, options,
                    sgd_of(context, schema, 1, 0, false, true));
    TestTensor<std::uint16_t> params({4}, 0x4080);  // 4
    const auto push = [&](std::uint16_t gradient) {
      TestTensor<std::uint16_t> grads({4}, gradient);
      gradstep_tensor p = params.tensor();
      gradstep_tensor g = grads.tensor();
      p.dtype = g.dtype = to_dlpack(DType::bf16);
      return host::push(updater, &p, &g, 1, 1);
    };
    const std::uint16_t g = comm.rank() == 0 ? 0x3f00 : 0x3f80;  // 0.5 and 1
    push(g);
    push(g);
    EXPECT_EQ(params.values[0], 0x4020) << "4 - (1 + 2) / 2 = 2.5";
    push(g);
    EXPECT_EQ(params.values[0], comm.rank() == 0 ? 0x4000 : 0x3fc0) << "2 and 1.5: masters began at 2.5";
  });
}

TEST(OuterRounds, ParametersThatAreAddedInARoundBeginItThere) {
  RoundReplica replica(nullptr, {});
  replica.push(1);
  const std::vector<std::int64_t> shape{2};
  gradstep_parameter added{};
  added.struct_size = sizeof added;
  added.name = "added";
  added.shape = shape.data();
  added.ndim = 1;
  added.dtype = to_dlpack(DType::f32);
  added.device = kDeviceOfHandles;
  replica.inner->add_parameters(&added, 1);
  replica.params.emplace_back(shape, 50.0F);
  std::vector<TestTensor<float>> grads;
  for (const auto& each : replica.params) grads.emplace_back(each.shape, 1.0F);
  expect_error(GRADSTEP_ERR_INVALID_STATE, "the outer optimizer has 3 parameters, the optimizer 4",
               [&] { replica.push(grads); });
  replica.outer->add_parameters(&added, 1);
  replica.push(grads);
  replica.push(grads);
  EXPECT_FLOAT_EQ(replica.first(), by_nesterov({3}));
  EXPECT_FLOAT_EQ(replica.params[3].values[0], by_nesterov({2}) - 50);
}

TEST(OuterRounds, WhatDoesNotGoTogetherIsRefused) {
  const auto context = make_context();
  const Schema schema = make_schema({{4}});
  const auto inner = sgd_of(context, schema, 1, 0, false);
  const auto outer = sgd_of(context, schema, 1, 0, false);
  const auto other = sgd_of(context, make_schema({{5}}), 1, 0, false);
  auto options = default_updater_options();
  const auto make = [&](const std::shared_ptr<Optimizer>& third) {
    Updater(context, inner, nullptr, nullptr, options, third);
  };
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "options.outer: steps by deltas, and options.sync is 0",
               [&] { make(outer); });
  options.sync = GRADSTEP_SYNC_DELTAS;
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "options.outer: is the optimizer itself", [&] { make(inner); });
  expect_error(GRADSTEP_ERR_MISMATCH, "optimizer and outer optimizer", [&] { make(other); });
  options.sync_steps = 0;
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "options.sync_steps: is 0", [&] { make(outer); });
}

}  // namespace
}  // namespace gradstep::test
