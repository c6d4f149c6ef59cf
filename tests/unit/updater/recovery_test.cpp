// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "updater/recovery.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "optim/saved_optimizer.h"
#include "unit/failing_loops.h"
#include "unit/memory_stream.h"
#include "unit/recorded_log.h"
#include "unit/updater/updater_fixture.h"

namespace gradstep::test {
namespace {

/// Three ranks lose rank 2 in the exchange of their second window and go on as two.
TEST(Recovery, SurvivorsRetryTheWindowOverANewCommunicator) {
  Replica::Setup setup;
  setup.steps = 2;
  CommSettings settings;
  settings.timeout_ms = 10000;
  auto survivors = make_local_communicators(make_context(), 2, settings);
  std::vector<std::vector<float>> ends(2);
  run_ranks(3, [&](Communicator& comm) {
    auto replica = std::make_unique<Replica>(&comm, setup);
    const auto rank = static_cast<std::uint32_t>(comm.rank());
    for (std::uint32_t i = 0; i < 2; ++i) {
      auto grads = micro_batch(10 * rank + i);
      replica->push(grads);
    }
    EXPECT_EQ(replica->optimizer->step_count(), 1);
    auto third = micro_batch(10 * rank + 2);
    replica->push(third);
    if (rank == 2) {
      replica->reducer->comm().abort();
      return;
    }
    const auto before = replica->params;
    auto fourth = micro_batch(10 * rank + 3);
    EXPECT_THROW(replica->push(fourth), Error);
    EXPECT_EQ(replica->params[0].values, before[0].values) << "a failed exchange leaves parameters alone";
    EXPECT_EQ(replica->optimizer->step_count(), 1);
    EXPECT_TRUE(replica->accumulator->ready()) << "and the window intact";
    expect_error(GRADSTEP_ERR_INVALID_STATE, "flush to retry", [&] { replica->push(fourth); });

    const auto p = replica->param_tensors();
    host::recover(*replica->updater, survivors[rank].get(), p.data(), p.size());
    EXPECT_TRUE(replica->flush());
    EXPECT_EQ(replica->optimizer->step_count(), 2);
    auto next = micro_batch(10 * rank + 4);
    EXPECT_FALSE(replica->push(next));
    ends[rank] = replica->params[1].values;
  });
  EXPECT_EQ(ends[0], ends[1]);
}

TEST(Recovery, SurvivorsKeepTheirResiduals) {
  Replica::Setup setup;
  setup.accumulates = false;
  setup.reducer_mode = GRADSTEP_REDUCER_SPARSE_TOPK;
  run_ranks(2, [&](Communicator& comm) {
    Replica replica(&comm, setup);
    const auto rank = static_cast<std::uint32_t>(comm.rank());
    auto grads = micro_batch(rank);
    replica.push(grads);
    const auto residual = [&] {
      const Array view = replica.reducer->memory().residual(1);
      const auto* data = static_cast<const float*>(view.data);
      return std::vector<float>(data, data + replica.reducer->schema()[1].size);
    };
    const std::vector<float> before = residual();
    const auto p = replica.param_tensors();
    host::recover(*replica.updater, &comm, p.data(), p.size());
    const StateFile file = read_bytes([&] {
      const auto parts = replica.updater->saved().save();
      Memory memory;
      write_state_file(&memory, "updater", parts);
      return memory.bytes;
    }());
    const auto& kept = file.tensors().at("rank/" + std::to_string(rank) + "/reducer/p1/residual");
    EXPECT_EQ(std::memcmp(kept.data, before.data(), sizeof(float) * before.size()), 0);
  });
}

TEST(Recovery, AWindowThatWasReducedAndNotSteppedLeavesItsResidualsOnce) {
  const std::vector<std::vector<std::int64_t>> shapes = {{40000}};  // enough for loops of the host
  std::vector<std::vector<float>> ends(4);
  std::vector<int> last_loop(2);  // of the second window, by rank: the step
  for (const bool fails : {false, true}) {
    run_ranks(2, [&](Communicator& comm) {
      const auto rank = static_cast<std::uint32_t>(comm.rank());
      FailingLoops loops;
      Replica::Setup setup;
      setup.steps = 1;
      setup.reducer_mode = GRADSTEP_REDUCER_SPARSE_TOPK;
      setup.shapes = shapes;
      setup.context = loops.make();
      if (fails) loops.failing = last_loop[rank];
      Replica replica(&comm, setup);
      for (std::uint32_t i = 0; i < 4; ++i) {
        auto grads = micro_batch(10 * rank + i, shapes);
        if (!fails || i != 1) {
          EXPECT_TRUE(replica.push(grads));
          if (!fails && i == 1) last_loop[rank] = loops.calls;
          continue;
        }
        EXPECT_THROW(replica.push(grads), Error);
        EXPECT_EQ(replica.optimizer->step_count(), 1) << "the window was reduced and not stepped";
        const auto p = replica.param_tensors();
        host::recover(*replica.updater, &comm, p.data(), p.size());
        EXPECT_TRUE(replica.flush());
      }
      ends[2 * rank + (fails ? 1 : 0)] = replica.params[0].values;
    });
  }
  EXPECT_EQ(ends[0], ends[1]);
  EXPECT_EQ(ends[2], ends[3]);
}

TEST(Recovery, EveryoneTakesOverTheLowestRankThatIsFurthest) {
  Replica::Setup setup;
  setup.steps = 1;
  std::vector<std::vector<float>> params(3);
  std::vector<std::vector<float>> moments(3);
  run_ranks(3, [&](Communicator& comm) {
    Replica replica(nullptr, setup);
    const auto rank = static_cast<std::uint32_t>(comm.rank());
    const std::uint32_t steps[] = {1, 3, 3};
    for (std::uint32_t i = 0; i < steps[rank]; ++i) {
      auto grads = micro_batch(10 * rank + i);
      replica.push(grads);
    }
    const auto own = replica.params[1].values;
    const auto p = replica.param_tensors();
    host::recover(*replica.updater, &comm, p.data(), p.size());
    EXPECT_EQ(replica.optimizer->step_count(), 3);
    EXPECT_TRUE(rank != 1 || replica.params[1].values == own) << "rank 1 is the lowest that is furthest";
    params[rank] = replica.params[1].values;
    const Array m = replica.optimizer->state().view(1, "exp_avg");
    moments[rank].assign(static_cast<const float*>(m.data), static_cast<const float*>(m.data) + m.size);
  });
  for (const std::size_t r : {0U, 2U}) {
    EXPECT_EQ(params[r], params[1]);
    EXPECT_EQ(moments[r], moments[1]);
  }
}

TEST(Recovery, WindowsThatDoNotStandTogetherAreDroppedOnAllRanks) {
  Replica::Setup setup;
  setup.steps = 4;
  run_ranks(2, [&](Communicator& comm) {
    Replica replica(nullptr, setup);
    auto grads = micro_batch(0);
    for (std::int32_t i = 0; i < 1 + comm.rank(); ++i) replica.push(grads);
    const auto p = replica.param_tensors();
    host::recover(*replica.updater, &comm, p.data(), p.size());
    EXPECT_EQ(replica.accumulator->pushes(), 0);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(replica.push(grads), i == 3);
  });
}

TEST(Recovery, AStateThatWasLostIsNotPassedOn) {
  auto survivors = make_local_communicators(make_context(), 2, CommSettings{});
  std::vector<std::vector<float>> moments(2);
  run_ranks(2, [&](Communicator& comm) {
    const auto rank = static_cast<std::uint32_t>(comm.rank());
    Replica replica(nullptr, {});
    Replica kept(nullptr, {});
    auto grads = micro_batch(0);
    for (int i = 0; i < 4; ++i) kept.push(grads);
    for (int i = 0; i < 8; ++i) replica.push(grads);
    replica.optimizer->attach(&comm, {});
    for (int i = 0; i < 3; ++i) replica.push(grads);
    if (rank == 1) replica.optimizer->sharding()->comm().abort();
    EXPECT_THROW(replica.push(grads), Error);
    replica.optimizer->attach(nullptr, {});
    const auto p = replica.param_tensors();
    expect_error(GRADSTEP_ERR_INVALID_STATE, "whole state",
                 [&] { host::recover(*replica.updater, survivors[rank].get(), p.data(), p.size()); });
    // Rank 1 has an older one to give, which counts though rank 0's counter is further.
    if (rank == 1) replica.optimizer->copy_state(*kept.optimizer);
    host::recover(*replica.updater, survivors[rank].get(), p.data(), p.size());
    EXPECT_EQ(replica.optimizer->step_count(), 1);
    const Array m = replica.optimizer->state().view(1, "exp_avg");
    moments[rank].assign(static_cast<const float*>(m.data), static_cast<const float*>(m.data) + m.size);
  });
  EXPECT_EQ(moments[0], moments[1]);
  EXPECT_NE(moments[0], std::vector<float>(moments[0].size()));
}

TEST(Recovery, ARankThatTakesOverAStepDoesNotApplyItsWindowOfThatStepAgain) {
  Replica::Setup setup;
  setup.steps = 1;
  std::vector<std::vector<float>> ends(2);
  run_ranks(2, [&](Communicator& comm) {
    const auto alone = make_local_communicators(make_context(), 1, {});
    Replica replica(alone[0].get(), setup);
    auto first = micro_batch(0);
    auto second = micro_batch(1);
    replica.push(first);
    if (comm.rank() == 1) {
      replica.reducer->comm().abort();
      EXPECT_THROW(replica.push(second), Error);
    } else {
      replica.push(second);
    }
    const auto p = replica.param_tensors();
    host::recover(*replica.updater, &comm, p.data(), p.size());
    EXPECT_EQ(replica.optimizer->step_count(), 2);
    EXPECT_FALSE(replica.flush()) << "the window is in the step that rank 0 has made";
    auto third = micro_batch(2);
    EXPECT_TRUE(replica.push(third));
    EXPECT_EQ(replica.optimizer->step_count(), 3);
    ends[static_cast<std::size_t>(comm.rank())] = replica.params[1].values;
  });
  EXPECT_EQ(ends[0], ends[1]);
  Replica never_failed(nullptr, setup);
  for (std::uint32_t i = 0; i < 3; ++i) {
    auto grads = micro_batch(i);
    never_failed.push(grads);
  }
  EXPECT_EQ(ends[0], never_failed.params[1].values);
}

// The first recover leaves the updater as the only owner of its new reducer, which the second one drops.
TEST(Recovery, CanBeRepeatedWhileTheHostKeepsItsFirstReducer) {
  run_ranks(2, [](Communicator& comm) {
    Replica replica(&comm, {});
    const auto p = replica.param_tensors();
    for (int i = 0; i < 3; ++i) host::recover(*replica.updater, &comm, p.data(), p.size());
    auto grads = micro_batch(static_cast<std::uint32_t>(comm.rank()));
    for (int i = 0; i < 4; ++i) EXPECT_EQ(replica.push(grads), i == 3);
    host::recover(*replica.updater, nullptr, p.data(), p.size());
    host::recover(*replica.updater, nullptr, p.data(), p.size());
    EXPECT_FALSE(replica.push(grads));
  });
}

TEST(Recovery, WindowsThatEndByWeightAreNotExchanged) {
  run_ranks(2, [](Communicator& comm) {
    Replica replica(nullptr, {});
    auto options = default_accumulator_options();
    options.mode = GRADSTEP_ACCUMULATE_WEIGHTED;
    options.trigger = GRADSTEP_TRIGGER_MIN_WEIGHT;
    options.min_weight = 4;
    const auto accumulator =
        std::make_shared<Accumulator>(replica.context, options, std::nullopt, replica.updater->schema());
    Updater alone(replica.context, replica.optimizer, accumulator, nullptr, default_updater_options());
    const auto p = replica.param_tensors();
    expect_error(GRADSTEP_ERR_UNSUPPORTED, "so that they end together",
                 [&] { host::recover(alone, &comm, p.data(), p.size()); });
  });
}

// Rank 1 takes part in the first phase, late, and in no other.
TEST(Recovery, AllPhasesShareOneDeadline) {
  std::atomic<bool> has_ended = false;
  run_ranks(
      2,
      [&](Communicator& comm) {
        Replica replica(nullptr, {});
        if (comm.rank() == 1) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1500));
          const Recovery recovery(comm, *replica.optimizer, nullptr, {}, comm.deadline());
          while (!has_ended) std::this_thread::sleep_for(std::chrono::milliseconds(1));
          return;
        }
        const auto p = replica.param_tensors();
        const auto start = std::chrono::steady_clock::now();
        expect_error(GRADSTEP_ERR_TIMEOUT, "", [&] { host::recover(*replica.updater, &comm, p.data(), p.size()); });
        EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(3000));
        has_ended = true;
      },
      2000);
}

TEST(Recovery, WithoutAnAccumulatorAFlushSaysThatTheFailedPushIsToBeRepeated) {
  Replica::Setup setup;
  setup.accumulates = false;
  run_ranks(2, [&](Communicator& comm) {
    const auto alone = make_local_communicators(make_context(), 1, {});
    Replica replica(alone[0].get(), setup);
    replica.reducer->comm().abort();
    auto grads = micro_batch(static_cast<std::uint32_t>(comm.rank()));
    EXPECT_THROW(replica.push(grads), Error);
    expect_error(GRADSTEP_ERR_INVALID_STATE, "push them again", [&] { replica.flush(); });
    const auto p = replica.param_tensors();
    host::recover(*replica.updater, &comm, p.data(), p.size());
    expect_error(GRADSTEP_ERR_INVALID_STATE, "push them again", [&] { replica.flush(); });
    EXPECT_TRUE(replica.push(grads));
    EXPECT_FALSE(replica.flush()) << "nothing is left";
    EXPECT_EQ(replica.optimizer->step_count(), 1);
  });
}

TEST(Recovery, AFailureOnTheWayChangesNothing) {
  run_ranks(
      2,
      [](Communicator& comm) {
        Replica replica(nullptr, {});
        auto grads = micro_batch(static_cast<std::uint32_t>(comm.rank()));
        for (int i = 0; i < 4; ++i) replica.push(grads);
        const auto before = replica.params;
        const auto p = replica.param_tensors();
        if (comm.rank() == 1) {
          comm.abort();
          return;
        }
        EXPECT_THROW(host::recover(*replica.updater, &comm, p.data(), p.size()), Error);
        EXPECT_EQ(replica.params[0].values, before[0].values);
        for (int i = 0; i < 4; ++i) EXPECT_EQ(replica.push(grads), i == 3) << "still usable alone";
      },
      2000);
}

TEST(Recovery, IsInTheLog) {
  RecordedLog records;
  Replica::Setup setup;
  setup.context = records.context();
  run_ranks(2, [&](Communicator& comm) {
    Replica replica(&comm, setup);
    // Windows of different lengths cannot go on together.
    for (std::int32_t i = 0; i <= comm.rank(); ++i) {
      auto grads = micro_batch(static_cast<std::uint32_t>(i));
      replica.push(grads);
    }
    const auto p = replica.param_tensors();
    host::recover(*replica.updater, &comm, p.data(), p.size());
  });
  EXPECT_EQ(records.count(GRADSTEP_LOG_WARNING, "recovery dropped this rank's window of 1 micro-batches"), 1);
  EXPECT_EQ(records.count(GRADSTEP_LOG_WARNING, "recovery dropped this rank's window of 2 micro-batches"), 1);
  EXPECT_EQ(
      records.count(GRADSTEP_LOG_INFO, "updater: recovered with 2 ranks, from rank 0 after 0 windows and 0 steps"), 2);
}

// Without a reducer: the sharded optimizer exchanges the gradients itself.
TEST(Recovery, AnUpdaterGoesOnWhenItsShardedOptimizerIsAttachedAndLoaded) {
  Replica::Setup setup;
  setup.steps = 2;
  Replica alone(nullptr, setup);
  const auto push = [](Replica& replica, std::uint32_t from, std::uint32_t to) {
    for (std::uint32_t i = from; i < to; ++i) {
      auto grads = micro_batch(i);
      replica.push(grads);
    }
  };
  push(alone, 0, 4);
  const std::string updater_file = saved_bytes("updater", alone.updater->saved().save());
  const std::string optimizer_file = saved_bytes("optimizer", {{"", save_optimizer(*alone.optimizer)}});
  const auto middle = alone.params;
  push(alone, 4, 6);
  gradstep_sharding_options equal{};
  equal.gradients = GRADSTEP_SHARDED_GRADIENTS_REDUCED;
  for (const bool loads_updater : {false, true}) {
    CommSettings settings;
    settings.timeout_ms = 10000;
    const auto survivors = make_local_communicators(make_context(), 2, settings);
    run_ranks(3, [&](Communicator& comm) {
      Replica replica(nullptr, setup);
      replica.optimizer->attach(&comm, equal);
      push(replica, 0, 5);
      comm.barrier(comm.deadline());
      if (comm.rank() == 2) return comm.abort();
      EXPECT_THROW(push(replica, 5, 6), Error);
      Communicator& left = *survivors[static_cast<std::size_t>(comm.rank())];
      const auto p = replica.param_tensors();
      expect_error(GRADSTEP_ERR_INVALID_STATE, "load a saved state",
                   [&] { host::recover(*replica.updater, &left, p.data(), p.size()); });
      replica.optimizer->attach(&left, equal);
      const StateFile file = read_bytes(loads_updater ? updater_file : optimizer_file);
      if (loads_updater) {
        replica.updater->saved().load(file)();
      } else {
        LoadedPart part(file, "");
        load_optimizer(part, *replica.optimizer)();
      }
      for (std::size_t k = 0; k < middle.size(); ++k) replica.params[k].values = middle[k].values;
      if (loads_updater) {
        push(replica, 4, 6);  // the window that failed is dropped
      } else {
        EXPECT_TRUE(replica.flush());  // and here it has waited
      }
      for (std::size_t k = 0; k < middle.size(); ++k) EXPECT_EQ(replica.params[k].values, alone.params[k].values);
    });
  }
}

}  // namespace
}  // namespace gradstep::test
