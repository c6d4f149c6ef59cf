// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A chain saved in the middle of a window, by all its ranks into one file.
#include "unit/memory_stream.h"
#include "unit/updater/updater_fixture.h"

namespace gradstep::test {
namespace {

std::string save(Updater& updater, Communicator* comm) {
  const auto parts = updater.saved().save();
  Memory memory;
  write_state_file(comm == nullptr || comm->rank() == 0 ? &memory : nullptr, "updater", parts);
  return memory.bytes;
}

void push(Replica& replica, std::uint32_t rank, std::uint32_t from, std::uint32_t to) {
  for (std::uint32_t i = from; i < to; ++i) {
    auto grads = micro_batch(100 * rank + i);
    replica.push(grads);
  }
}

TEST(SavedUpdater, EveryRankResumesItsOwnWindow) {
  for (const bool sharded : {false, true}) {
    std::string bytes;
    std::vector<std::vector<std::vector<float>>> middle(3);
    std::vector<std::vector<float>> ends(3);
    run_ranks(3, [&](Communicator& comm) {
      const auto rank = static_cast<std::uint32_t>(comm.rank());
      Replica replica(&comm, {});
      if (sharded) replica.optimizer->attach(&comm, {});
      push(replica, rank, 0, 6);  // one window, and half of the next
      const std::string saved = save(*replica.updater, &comm);
      if (rank == 0) bytes = saved;
      for (const auto& param : replica.params) middle[rank].push_back(param.values);
      push(replica, rank, 6, 12);
      ends[rank] = replica.params[1].values;
    });
    run_ranks(3, [&](Communicator& comm) {
      const auto rank = static_cast<std::uint32_t>(comm.rank());
      Replica replica(&comm, {});
      if (sharded) replica.optimizer->attach(&comm, {});
      const StateFile file = read_bytes(bytes);
      replica.updater->saved().load(file)();
      for (std::size_t k = 0; k < replica.params.size(); ++k) replica.params[k].values = middle[rank][k];
      push(replica, rank, 6, 12);
      EXPECT_EQ(replica.params[1].values, ends[rank]);
    });
  }
}

std::vector<float> moment_of(Replica& replica) {
  const Array view = replica.optimizer->state().view(1, "exp_avg");
  const auto* data = static_cast<const float*>(view.data);
  return {data, data + view.size};
}

/// Files without "optimizers" are those of commits that kept rank 0's state alone.
std::string without_states_of_their_own(const std::map<std::string, SavedPart>& parts) {
  std::map<std::string, SavedPart> old = parts;
  old["updater/"].metadata.erase("optimizers");
  std::erase_if(old, [](const auto& part) { return part.first.ends_with("/optimizer/"); });
  return saved_bytes("updater", old);
}

// Each rank's moments are of its own gradients, and so is what it steps by after a load.
TEST(SavedUpdater, RanksThatStepByThemselvesResumeTheirOwnStates) {
  for (const std::int32_t sync : {GRADSTEP_SYNC_DELTAS, GRADSTEP_SYNC_PARAMETERS, GRADSTEP_SYNC_PARAMETERS_PARTIAL}) {
    Replica::Setup setup;
    setup.options.sync = sync;
    setup.options.sync_steps = 3;
    std::string bytes;
    std::vector<std::vector<std::vector<float>>> middle(3);
    std::vector<std::vector<float>> moments(3);
    std::vector<std::vector<float>> ends(3);
    run_ranks(3, [&](Communicator& comm) {
      const auto rank = static_cast<std::uint32_t>(comm.rank());
      Replica replica(&comm, setup);
      push(replica, rank, 0, 10);  // two windows, and half of the next
      const std::string saved = save(*replica.updater, &comm);
      if (rank == 0) bytes = saved;
      moments[rank] = moment_of(replica);
      for (const auto& param : replica.params) middle[rank].push_back(param.values);
      push(replica, rank, 10, 24);
      ends[rank] = replica.params[1].values;
    });
    EXPECT_NE(moments[0], moments[1]);
    const StateFile file = read_bytes(bytes);
    run_ranks(3, [&](Communicator& comm) {
      const auto rank = static_cast<std::uint32_t>(comm.rank());
      Replica replica(&comm, setup);
      replica.updater->saved().load(file)();
      EXPECT_EQ(moment_of(replica), moments[rank]);
      for (std::size_t k = 0; k < replica.params.size(); ++k) replica.params[k].values = middle[rank][k];
      push(replica, rank, 10, 24);
      EXPECT_EQ(replica.params[1].values, ends[rank]) << "sync " << sync << " rank " << rank;
    });
  }
}

TEST(SavedUpdater, StatesOfRanksThatStepByThemselvesGoToOtherNumbersOfRanksInTurn) {
  Replica::Setup setup;
  setup.options.sync = GRADSTEP_SYNC_DELTAS;
  std::string bytes;
  std::string old;
  std::vector<std::vector<float>> moments(2);
  run_ranks(2, [&](Communicator& comm) {
    const auto rank = static_cast<std::uint32_t>(comm.rank());
    Replica replica(&comm, setup);
    push(replica, rank, 0, 4);
    const std::string saved = save(*replica.updater, &comm);
    if (rank == 0) bytes = saved;
    moments[rank] = moment_of(replica);
  });
  {
    const auto alone = make_local_communicators(make_context(), 1, {});
    Replica replica(alone[0].get(), setup);
    push(replica, 0, 0, 4);
    old = without_states_of_their_own(replica.updater->saved().save());
  }
  const StateFile file = read_bytes(bytes);
  const StateFile old_file = read_bytes(old);
  run_ranks(3, [&](Communicator& comm) {
    Replica replica(&comm, setup);
    replica.updater->saved().load(file)();
    EXPECT_EQ(moment_of(replica), moments[static_cast<std::size_t>(comm.rank() % 2)]);
    replica.updater->saved().load(old_file)();
    EXPECT_EQ(moment_of(replica), moments[0]);
    Replica equal(&comm, {});
    equal.updater->saved().load(file)();
    EXPECT_EQ(moment_of(equal), moments[0]) << "replicas that step together have one state";
  });
}

/// What a file says of ranks that it does not have costs neither memory nor time.
TEST(SavedUpdater, MoreRanksThanAFileHasAreCorrupt) {
  for (const bool accumulates : {true, false}) {
    Replica::Setup setup;
    setup.accumulates = accumulates;
    setup.reducer_mode = accumulates ? GRADSTEP_REDUCER_DENSE : GRADSTEP_REDUCER_SPARSE_TOPK;
    run_ranks(1, [&](Communicator& comm) {
      Replica replica(&comm, setup);
      push(replica, 0, 0, 4);
      for (const std::int64_t ranks :
           {std::int64_t{20'000'000}, std::int64_t{INT32_MAX}, (std::int64_t{1} << 32) + 1, std::int64_t{1} << 62}) {
        auto parts = replica.updater->saved().save();
        parts["updater/"].set("ranks", ranks);
        const StateFile file = read_bytes(saved_bytes("updater", parts));
        expect_error(GRADSTEP_ERR_CORRUPT, fmt::format("it is of {} ranks", ranks),
                     [&] { replica.updater->saved().load(file)(); });
      }
    });
  }
}

/// Where nothing is each rank's own, how many there were is of no account.
TEST(SavedUpdater, AFileOfManyRanksThatHaveNothingOfTheirOwnIsTakenAtOnce) {
  Replica::Setup setup;
  setup.accumulates = false;
  run_ranks(2, [&](Communicator& comm) {
    Replica replica(&comm, setup);
    push(replica, 0, 0, 4);
    auto parts = replica.updater->saved().save();
    parts["updater/"].set("ranks", std::int64_t{1} << 62);
    const StateFile file = read_bytes(saved_bytes("updater", parts));
    replica.updater->saved().load(file)();
    EXPECT_EQ(replica.optimizer->step_count(), 4);
  });
}

TEST(SavedUpdater, OpenWindowsOfAnotherNumberOfRanksAreRefused) {
  std::string open;
  std::string between;
  run_ranks(2, [&](Communicator& comm) {
    const auto rank = static_cast<std::uint32_t>(comm.rank());
    Replica replica(&comm, {});
    push(replica, rank, 0, 4);
    const std::string after_a_step = save(*replica.updater, &comm);
    push(replica, rank, 4, 5);
    const std::string in_a_window = save(*replica.updater, &comm);
    if (rank == 0) {
      between = after_a_step;
      open = in_a_window;
    }
  });
  Replica alone(nullptr, {});
  const StateFile refused = read_bytes(open);
  expect_error(GRADSTEP_ERR_MISMATCH, "saved by 2 ranks in the middle of a window",
               [&] { alone.updater->saved().load(refused)(); });
  EXPECT_EQ(alone.optimizer->step_count(), 0);
  const StateFile taken = read_bytes(between);
  alone.updater->saved().load(taken)();
  EXPECT_EQ(alone.optimizer->step_count(), 1);
}

/// A learning rate that the host cannot tell for the second step.
Schedule failing_schedule() {
  gradstep_schedule schedule{};
  schedule.struct_size = sizeof schedule;
  schedule.kind = GRADSTEP_SCHEDULE_CALLBACK;
  schedule.power = 1;
  schedule.function = [](void*, std::int64_t step, double* value) -> gradstep_status {
    *value = 0.01;
    return step == 1 ? GRADSTEP_ERR_IO : GRADSTEP_OK;
  };
  return {"schedule", &schedule};
}

TEST(SavedUpdater, AWindowThatWasNotAppliedIsRefusedByAnotherNumberOfRanks) {
  Replica waits(nullptr, {});
  waits.optimizer->set_schedule(-1, "learning_rate", failing_schedule());
  push(waits, 0, 0, 7);
  auto grads = micro_batch(7);
  EXPECT_THROW(waits.push(grads), Error);
  waits.optimizer->set_schedule(-1, "learning_rate", Schedule(0.01));
  const std::string bytes = save(*waits.updater, nullptr);
  run_ranks(2, [&](Communicator& comm) {
    Replica replica(&comm, {});
    const StateFile file = read_bytes(bytes);
    expect_error(GRADSTEP_ERR_MISMATCH, "with a window that was not applied",
                 [&] { replica.updater->saved().load(file)(); });
    EXPECT_EQ(replica.optimizer->step_count(), 0);
  });
  // One rank alone goes on where it stopped.
  Replica resumed(nullptr, {});
  const StateFile file = read_bytes(bytes);
  resumed.updater->saved().load(file)();
  EXPECT_TRUE(resumed.flush());
  EXPECT_EQ(resumed.optimizer->step_count(), 2);
}

// The others get an error, and go on: their channel is whole.
TEST(SavedUpdater, WhatCannotBeSavedOnOneRankIsNotSavedOnAny) {
  run_ranks(
      3,
      [](Communicator& comm) {
        const auto rank = static_cast<std::uint32_t>(comm.rank());
        Replica replica(&comm, {});
        push(replica, rank, 0, 4);
        if (rank == 1) replica.optimizer->set_schedule(-1, "learning_rate", failing_schedule());
        const gradstep_status expected = rank == 1 ? GRADSTEP_ERR_CALLBACK : GRADSTEP_ERR_ABORTED;
        expect_error(expected, rank == 1 ? "a schedule's callback" : "another rank could not save: rank 1: ", [&] {
          save(*replica.updater, &comm);
        });
        if (rank == 1) replica.optimizer->set_schedule(-1, "learning_rate", Schedule(0.01));
        push(replica, rank, 4, 8);
        EXPECT_EQ(replica.optimizer->step_count(), 2);
        EXPECT_NO_THROW(save(*replica.updater, &comm));
      },
      2000);
}

std::vector<float> residual_of(Reducer& reducer, std::size_t i) {
  const Array view = reducer.memory().residual(i);
  const auto* data = static_cast<const float*>(view.data);
  return std::vector<float>(data, data + reducer.schema()[i].size);
}

TEST(SavedUpdater, ResidualsGoOnWithTheSameBitsAndNoneIsLostOnOtherNumbersOfRanks) {
  Replica::Setup setup;
  setup.reducer_mode = GRADSTEP_REDUCER_SPARSE_TOPK;
  std::string bytes;
  std::vector<std::vector<float>> middle(3);
  std::vector<std::vector<float>> residuals(3);
  std::vector<std::vector<float>> ends(3);
  run_ranks(3, [&](Communicator& comm) {
    const auto rank = static_cast<std::uint32_t>(comm.rank());
    Replica replica(&comm, setup);
    push(replica, rank, 0, 4);
    const std::string saved = save(*replica.updater, &comm);
    if (rank == 0) bytes = saved;
    middle[rank] = replica.params[1].values;
    residuals[rank] = residual_of(*replica.reducer, 1);
    push(replica, rank, 4, 8);
    ends[rank] = replica.params[1].values;
  });
  const StateFile file = read_bytes(bytes);
  run_ranks(3, [&](Communicator& comm) {
    const auto rank = static_cast<std::uint32_t>(comm.rank());
    Replica replica(&comm, setup);
    replica.updater->saved().load(file)();
    replica.params[1].values = middle[rank];
    push(replica, rank, 4, 8);
    EXPECT_EQ(replica.params[1].values, ends[rank]);
  });
  run_ranks(2, [&](Communicator& comm) {
    Replica replica(&comm, setup);
    replica.updater->saved().load(file)();
    std::vector<float> expected = comm.rank() == 0 ? residuals[0] : residuals[1];
    for (std::size_t i = 0; i < expected.size() && comm.rank() == 0; ++i) expected[i] += residuals[2][i];
    EXPECT_EQ(residual_of(*replica.reducer, 1), expected);
  });
  run_ranks(4, [&](Communicator& comm) {
    Replica replica(&comm, setup);
    replica.updater->saved().load(file)();
    const auto rank = static_cast<std::size_t>(comm.rank());
    const std::vector<float> zeros(residuals[0].size(), 0);
    EXPECT_EQ(residual_of(*replica.reducer, 1), rank < 3 ? residuals[rank] : zeros);
  });
}

TEST(SavedUpdater, AChainWithoutAnAccumulatorIsAnotherChain) {
  Replica with(nullptr, {});
  Replica::Setup setup;
  setup.accumulates = false;
  Replica without(nullptr, setup);
  const StateFile file = read_bytes(save(*with.updater, nullptr));
  expect_error(GRADSTEP_ERR_MISMATCH, "accumulator", [&] { without.updater->saved().load(file)(); });
}

}  // namespace
}  // namespace gradstep::test
