// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The whole chain over several ranks: what travels, what is agreed, what a window ends with.
#include "unit/updater/updater_fixture.h"

namespace gradstep::test {
namespace {

TEST(UpdaterRanks, TheFirstMicroBatchesTouchNoNetworkAndTheLastSendsOneAllReducePerBucket) {
  run_ranks(2, [](Communicator& comm) {
    Replica replica(&comm, {});
    for (std::uint32_t i = 0; i < 4; ++i) {  // in the first window ranks also say what they must agree on
      auto grads = micro_batch(i);
      replica.push(grads);
    }
    const auto calls = [&] {
      const auto s = replica.reducer->comm().stats();
      return s.all_reduces + s.all_gathers + s.broadcasts + s.sends + s.receives + s.barriers + s.reduce_scatters;
    };
    const auto at_start = calls();
    const auto all_reduces = replica.reducer->comm().stats().all_reduces;
    const auto buckets = static_cast<std::int64_t>(replica.reducer->bucket_stats().size());
    for (std::uint32_t i = 0; i < 3; ++i) {
      auto grads = micro_batch(i);
      EXPECT_FALSE(replica.push(grads));
      EXPECT_EQ(calls(), at_start);
    }
    auto grads = micro_batch(3);
    EXPECT_TRUE(replica.push(grads));
    EXPECT_EQ(replica.reducer->comm().stats().all_reduces - all_reduces, buckets);
    EXPECT_EQ(calls() - at_start, buckets) << "nothing but the buckets' all-reduces";
  });
}

TEST(UpdaterRanks, RanksTimesMicroBatchesEndWhereOneProcessWithAllOfThemEnds) {
  std::vector<std::vector<float>> ends(2);
  Replica::Setup alone;
  alone.steps = 8;
  Replica one(nullptr, alone);
  for (std::uint32_t i = 0; i < 24; ++i) {
    auto grads = micro_batch(i);
    one.push(grads);
  }
  run_ranks(2, [&](Communicator& comm) {
    Replica replica(&comm, {});
    const auto rank = static_cast<std::uint32_t>(comm.rank());
    for (std::uint32_t window = 0; window < 3; ++window) {
      for (std::uint32_t k = 0; k < 4; ++k) {
        auto grads = micro_batch(window * 8 + rank * 4 + k);
        replica.push(grads);
      }
    }
    ends[rank] = replica.params[1].values;
  });
  EXPECT_EQ(ends[0], ends[1]) << "replicas must be equal bit for bit";
  // Sums in another order, then three Adam steps of 0.01: differences of a few ulp of the gradient scale.
  for (std::size_t i = 0; i < ends[0].size(); ++i) EXPECT_NEAR(ends[0][i], one.params[1].values[i], 1e-5);
}

// With a dense reducer a sharded optimizer reduces by itself; with any other mode the reducer does it.
TEST(UpdaterRanks, AShardedOptimizerStepsWhatOtherModesReduce) {
  for (const std::int32_t mode : {GRADSTEP_REDUCER_HALF, GRADSTEP_REDUCER_SPARSE_TOPK, GRADSTEP_REDUCER_ADASUM_TREE}) {
    Replica::Setup setup;
    setup.reducer_mode = mode;
    setup.average = GRADSTEP_AVERAGE_UNSET;
    std::vector<std::vector<float>> ends(2);
    for (const bool sharded : {false, true}) {
      run_ranks(2, [&](Communicator& comm) {
        Replica replica(&comm, setup);
        if (sharded) replica.optimizer->attach(&comm, {});
        const auto rank = static_cast<std::uint32_t>(comm.rank());
        for (std::uint32_t i = 0; i < 8; ++i) {
          auto grads = micro_batch(100 * rank + i);
          replica.push(grads);
        }
        EXPECT_GT(replica.reducer->bucket_stats()[0].exchanges, 0);
        if (rank == 0) ends[sharded ? 1 : 0] = replica.params[1].values;
      });
    }
    EXPECT_EQ(ends[0], ends[1]) << "mode " << mode;
  }
}

TEST(UpdaterRanks, ARankThatSkipsNeitherHangsTheOthersNorDriftsFromThem) {
  Replica::Setup setup;
  setup.nonfinite = GRADSTEP_NONFINITE_SKIP;
  setup.mode = GRADSTEP_ACCUMULATE_MEAN;
  std::vector<std::vector<float>> ends(3);
  run_ranks(3, [&](Communicator& comm) {
    Replica replica(&comm, setup);
    const auto rank = static_cast<std::uint32_t>(comm.rank());
    for (std::uint32_t i = 0; i < 8; ++i) {
      auto grads = micro_batch(100 * rank + i);
      // Rank 1 loses one micro-batch of the first window and all of the second.
      if (rank == 1 && (i == 2 || i >= 4)) grads[0].values[0] = std::numeric_limits<float>::infinity();
      EXPECT_EQ(replica.push(grads), i % 4 == 3) << i;
    }
    EXPECT_EQ(replica.accumulator->skipped(), rank == 1 ? 5 : 0);
    ends[rank] = replica.params[0].values;
  });
  EXPECT_EQ(ends[0], ends[1]);
  EXPECT_EQ(ends[0], ends[2]);
}

TEST(UpdaterRanks, AWindowThatEveryRankSkippedMakesNoStep) {
  Replica::Setup setup;
  setup.nonfinite = GRADSTEP_NONFINITE_SKIP;
  setup.steps = 1;
  run_ranks(2, [&](Communicator& comm) {
    Replica replica(&comm, setup);
    auto grads = micro_batch(0);
    for (auto& g : grads) g.values[0] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_FALSE(replica.push(grads));
    EXPECT_EQ(replica.optimizer->step_count(), 0);
    EXPECT_EQ(replica.updater->stats().skipped_steps, 1);
  });
}

TEST(UpdaterRanks, ANonFiniteRankMakesAllRanksSkip) {
  Replica::Setup setup;
  setup.steps = 1;
  setup.options.skip_nonfinite = 1;
  run_ranks(3, [&](Communicator& comm) {
    Replica replica(&comm, setup);
    auto grads = micro_batch(static_cast<std::uint32_t>(comm.rank()));
    if (comm.rank() == 2) grads[1].values[7] = std::numeric_limits<float>::infinity();
    EXPECT_FALSE(replica.push(grads));
    auto good = micro_batch(static_cast<std::uint32_t>(comm.rank()));
    EXPECT_TRUE(replica.push(good));
  });
}

// An infinity that stayed in a residual, an estimate or a factor would make every later window infinite.
TEST(UpdaterRanks, AWindowThatIsSkippedLeavesNothingInTheReducer) {
  struct Memory {
    std::int32_t mode;
    std::int32_t error_feedback;
  };
  for (const Memory& memory : {Memory{GRADSTEP_REDUCER_SPARSE_TOPK, GRADSTEP_ERROR_FEEDBACK_EF14},
                               Memory{GRADSTEP_REDUCER_SPARSE_TOPK, GRADSTEP_ERROR_FEEDBACK_EF21},
                               Memory{GRADSTEP_REDUCER_POWERSGD, GRADSTEP_ERROR_FEEDBACK_EF14},
                               Memory{GRADSTEP_REDUCER_INT8, GRADSTEP_ERROR_FEEDBACK_EF14},
                               Memory{GRADSTEP_REDUCER_INT4, GRADSTEP_ERROR_FEEDBACK_EF14},
                               Memory{GRADSTEP_REDUCER_FP8_E4M3, GRADSTEP_ERROR_FEEDBACK_EF14}}) {
    Replica::Setup setup;
    setup.steps = 1;
    setup.options.skip_nonfinite = 1;
    setup.reducer_mode = memory.mode;
    setup.error_feedback = memory.error_feedback;
    std::vector<std::vector<float>> ends(2);
    for (const bool overflows : {false, true}) {
      run_ranks(2, [&](Communicator& comm) {
        Replica replica(&comm, setup);
        const auto rank = static_cast<std::uint32_t>(comm.rank());
        for (std::uint32_t i = 0; i < 5; ++i) {
          auto grads = micro_batch(10 * rank + i);
          if (overflows && i == 2) {
            auto spoiled = grads;
            for (auto& g : spoiled) g.values.assign(g.values.size(), std::numeric_limits<float>::infinity());
            EXPECT_FALSE(replica.push(spoiled));
          }
          EXPECT_TRUE(replica.push(grads));
        }
        if (rank == 0) ends[overflows ? 1 : 0] = replica.params[0].values;
      });
    }
    EXPECT_EQ(ends[1], ends[0]) << "mode " << memory.mode << ", error feedback " << memory.error_feedback;
  }
}

TEST(UpdaterRanks, TokenWeightsAreSharedAcrossRanks) {
  Replica::Setup setup;
  setup.mode = GRADSTEP_ACCUMULATE_WEIGHTED;
  setup.average = GRADSTEP_AVERAGE_WEIGHTED;
  setup.steps = 2;
  Replica::Setup alone = setup;
  alone.steps = 4;
  Replica one(nullptr, alone);
  const double weights[] = {3, 1, 4, 1.5};
  for (std::uint32_t i = 0; i < 4; ++i) {
    auto grads = micro_batch(i);
    one.push(grads, weights[i]);
  }
  run_ranks(2, [&](Communicator& comm) {
    Replica replica(&comm, setup);
    for (std::uint32_t k = 0; k < 2; ++k) {
      const auto i = static_cast<std::uint32_t>(comm.rank()) * 2 + k;
      auto grads = micro_batch(i);
      replica.push(grads, weights[i]);
    }
    // One Adam step of 0.01 whose direction differs by the rounding of the weighted sums.
    for (std::size_t i = 0; i < 300; ++i) EXPECT_NEAR(replica.params[1].values[i], one.params[1].values[i], 1e-5);
  });
}

// An updater over several ranks counts skipped pushes.
TEST(UpdaterRanks, AnUpdaterThatIsRefusedLeavesItsHandlesAsTheyWere) {
  run_ranks(2, [](Communicator& comm) {
    Replica::Setup setup;
    setup.steps = 2;
    setup.nonfinite = GRADSTEP_NONFINITE_SKIP;
    Replica replica(nullptr, setup);
    auto options = default_updater_options();
    options.sync = GRADSTEP_SYNC_PARAMETERS;
    auto half = default_reducer_options();
    half.mode = GRADSTEP_REDUCER_HALF;
    const auto reducer = std::make_shared<Reducer>(replica.context, comm, half, make_schema(kModelShapes));
    expect_error(GRADSTEP_ERR_UNSUPPORTED, "dense",
                 [&] { Updater(replica.context, replica.optimizer, replica.accumulator, reducer, options); });
    std::vector<TestTensor<float>> grads;
    for (const auto& shape : kModelShapes) grads.emplace_back(shape, 1.0F);
    const auto add = [&] {
      std::vector<gradstep_tensor> tensors;
      for (auto& grad : grads) tensors.push_back(grad.tensor());
      return host::add(*replica.accumulator, tensors.data(), tensors.size());
    };
    grads[0].values[0] = std::numeric_limits<float>::infinity();
    EXPECT_FALSE(add());
    grads[0].values[0] = 1;
    EXPECT_FALSE(add()) << "the first one was skipped";
  });
}

TEST(UpdaterRanks, WindowsThatCannotEndTogetherAreUnsupported) {
  run_ranks(2, [](Communicator& comm) {
    Replica replica(&comm, {});
    auto o = default_accumulator_options();
    o.mode = GRADSTEP_ACCUMULATE_SUM;
    o.trigger = GRADSTEP_TRIGGER_MANUAL;
    auto manual = std::make_shared<Accumulator>(replica.context, o, std::nullopt, make_schema(kModelShapes));
    expect_error(GRADSTEP_ERR_UNSUPPORTED, "end together", [&] {
      Updater(replica.context, replica.optimizer, manual, replica.reducer, default_updater_options());
    });
  });
}

TEST(UpdaterRanks, APartialWindowIsFlushedTogether) {
  run_ranks(2, [](Communicator& comm) {
    Replica replica(&comm, {});
    auto grads = micro_batch(static_cast<std::uint32_t>(comm.rank()));
    replica.push(grads);
    EXPECT_TRUE(replica.flush());
    EXPECT_FALSE(replica.flush());
  });
}

// The reducer leaves its work to the sharded optimizer, which sends each gradient to its owner alone.
TEST(UpdaterRanks, AShardedOptimizerEndsWhereAnUnshardedOneEnds) {
  for (const std::int32_t average : {GRADSTEP_AVERAGE_SUM, GRADSTEP_AVERAGE_MEAN, GRADSTEP_AVERAGE_WEIGHTED}) {
    for (const double max_norm : {0.0, 0.5}) {
      Replica::Setup setup;
      setup.average = average;
      setup.options.max_norm = max_norm;
      run_ranks(3, [&](Communicator& comm) {
        Replica plain(&comm, setup);
        Replica sharded(&comm, setup);
        sharded.optimizer->attach(&comm, {});
        const auto all_reduces = sharded.reducer->comm().stats().all_reduces;
        for (std::uint32_t i = 0; i < 8; ++i) {
          auto grads = micro_batch(100 * static_cast<std::uint32_t>(comm.rank()) + i);
          EXPECT_EQ(plain.push(grads), sharded.push(grads));
        }
        EXPECT_EQ(sharded.reducer->comm().stats().all_reduces, all_reduces);
        for (std::size_t k = 0; k < plain.params.size(); ++k)
          EXPECT_EQ(sharded.params[k].values, plain.params[k].values);
      });
    }
  }
}

// Two chunks for four ranks.
TEST(UpdaterRanks, ARankWithoutElementsSeesThatGradientsCame) {
  run_ranks(4, [](Communicator& comm) {
    Replica replica(&comm, {});
    replica.optimizer->attach(&comm, {});
    for (std::uint32_t i = 0; i < 4; ++i) {
      auto grads = micro_batch(i);
      replica.push(grads);
    }
    EXPECT_EQ(replica.optimizer->state().flags(), (std::vector<std::uint8_t>{1, 1})) << "rank " << comm.rank();
  });
}

TEST(UpdaterRanks, AShardedOptimizerIsRecoveredWhereNoPartOfItIsGone) {
  run_ranks(2, [](Communicator& comm) {
    Replica replica(&comm, {});
    replica.optimizer->attach(&comm, {});
    auto params = replica.param_tensors();
    host::recover(*replica.updater, &comm, params.data(), params.size());
    EXPECT_TRUE(replica.optimizer->is_sharded());
    auto grads = micro_batch(static_cast<std::uint32_t>(comm.rank()));
    for (int i = 0; i < 4; ++i) EXPECT_EQ(replica.push(grads), i == 3);
  });
}

}  // namespace
}  // namespace gradstep::test
