// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Ranks that would step differently get an error, on all of them, before anything is changed.
#include <functional>

#include "unit/updater/updater_fixture.h"

namespace gradstep::test {
namespace {

bool push(Replica& replica, std::uint32_t micro_batch_number) {
  auto grads = micro_batch(micro_batch_number);
  return replica.push(grads);
}

using Change = std::function<void(Replica::Setup&)>;

/// One window with `change` on rank 1 alone is refused in words that have `text`, and leaves the parameters alone.
void expect_told(const char* text, const Replica::Setup& common, const Change& change) {
  run_ranks(
      2,
      [&](Communicator& comm) {
        Replica::Setup setup = common;
        setup.steps = 1;
        if (comm.rank() == 1) change(setup);
        Replica replica(&comm, setup);
        const auto before = replica.params[0].values;
        auto grads = micro_batch(0);
        expect_error(GRADSTEP_ERR_MISMATCH, text, [&] { replica.push(grads); });
        const bool steps_alone = setup.options.sync == GRADSTEP_SYNC_PARAMETERS;  // its local step stands
        if (!steps_alone) {
          EXPECT_EQ(replica.params[0].values, before) << text;
        }
        EXPECT_EQ(comm.status().code, GRADSTEP_OK);
      },
      3000);
}

TEST(Agreement, WhatTheUpdatersDifferInIsTold) {
  const Replica::Setup plain;
  expect_told("max_norm", plain, [](Replica::Setup& s) { s.options.max_norm = 1; });
  expect_told("clip_value", plain, [](Replica::Setup& s) { s.options.clip_value = 1; });
  expect_told("grad_scale", plain, [](Replica::Setup& s) { s.options.grad_scale = 2; });
  expect_told("skip_nonfinite", plain, [](Replica::Setup& s) { s.options.skip_nonfinite = 1; });
  Replica::Setup votes;
  votes.options.skip_nonfinite = 1;
  expect_told("options.sync", votes, [](Replica::Setup& s) { s.options.sync = GRADSTEP_SYNC_DELTAS; });
  expect_told("accumulator", plain, [](Replica::Setup& s) { s.mode = GRADSTEP_ACCUMULATE_SUM; });
  expect_told("skip_nonfinite", plain, [](Replica::Setup& s) { s.nonfinite = GRADSTEP_NONFINITE_POISON; });
  expect_told("rule", plain, [](Replica::Setup& s) { s.amsgrad = true; });
  expect_told("'learning_rate'", plain, [](Replica::Setup& s) { s.learning_rate = 0.5; });
  Replica::Setup parameters;
  parameters.options.sync = GRADSTEP_SYNC_PARAMETERS;
  parameters.options.skip_nonfinite = 1;
  expect_told("max_norm", parameters, [](Replica::Setup& s) { s.options.max_norm = 1; });
  Replica::Setup sparse;
  sparse.reducer_mode = GRADSTEP_REDUCER_SPARSE_TOPK;
  expect_told("'learning_rate'", sparse, [](Replica::Setup& s) { s.learning_rate = 0.5; });
}

// The change comes when ranks have agreed before: by what goes with the messages of a dense reducer, and else.
TEST(Agreement, WhatOneRankChangesLaterIsToldAndTheWindowIsKept) {
  for (const std::int32_t mode : {GRADSTEP_REDUCER_DENSE, GRADSTEP_REDUCER_HALF}) {
    run_ranks(
        3,
        [&](Communicator& comm) {
          Replica::Setup setup;
          setup.steps = 2;
          setup.reducer_mode = mode;
          Replica replica(&comm, setup);
          for (std::uint32_t i = 0; i < 4; ++i) push(replica, i);
          const auto before = replica.params[0].values;
          if (comm.rank() == 2) replica.optimizer->set_schedule(-1, "learning_rate", Schedule(0.5));
          push(replica, 4);
          expect_error(GRADSTEP_ERR_MISMATCH, "'learning_rate'", [&] { push(replica, 5); });
          EXPECT_EQ(replica.params[0].values, before);
          replica.optimizer->set_schedule(-1, "learning_rate", Schedule(0.5));
          EXPECT_TRUE(replica.flush()) << "now all have it, and the window is still there";
        },
        3000);
  }
}

TEST(Agreement, AScheduleThatFailsOnOneRankStopsAllAndTheWindowIsKept) {
  struct Case {
    std::int32_t sync;
    bool skips;
  };
  // Averaged parameters without a vote are not here: their ranks wait for the one that has failed.
  for (const auto& [sync, skips] :
       {Case{GRADSTEP_SYNC_GRADIENTS, false}, Case{GRADSTEP_SYNC_GRADIENTS, true}, Case{GRADSTEP_SYNC_PARAMETERS, true},
        Case{GRADSTEP_SYNC_DELTAS, false}, Case{GRADSTEP_SYNC_DELTAS, true}}) {
    run_ranks(
        3,
        [&](Communicator& comm) {
          Replica::Setup setup;
          setup.steps = 2;
          setup.options.sync = sync;
          setup.options.skip_nonfinite = skips ? 1 : 0;
          Replica replica(&comm, setup);
          for (std::uint32_t i = 0; i < 4; ++i) push(replica, i);
          const auto before = replica.params[0].values;
          gradstep_schedule bad{};
          bad.struct_size = sizeof bad;
          bad.kind = GRADSTEP_SCHEDULE_CALLBACK;
          bool fails = comm.rank() == 1;
          bad.user = &fails;
          bad.function = [](void* user, std::int64_t, double* value) {
            *value = *static_cast<bool*>(user) ? std::numeric_limits<double>::quiet_NaN() : 0.1;
            return gradstep_status{GRADSTEP_OK};
          };
          replica.optimizer->set_schedule(-1, "learning_rate", Schedule("schedule", &bad));
          push(replica, 4);
          if (comm.rank() == 1) {
            expect_error(GRADSTEP_ERR_NUMERIC, "learning_rate", [&] { push(replica, 5); });
          } else {
            expect_error(GRADSTEP_ERR_ABORTED, "rank 1 could not begin the step", [&] { push(replica, 5); });
          }
          if (sync != GRADSTEP_SYNC_PARAMETERS) {
            EXPECT_EQ(replica.params[0].values, before);
          }
          fails = false;
          EXPECT_TRUE(replica.flush());
        },
        3000);
  }
}

// Ranks that step alone compare in each exchange.
TEST(Agreement, WhatLocalStepsDifferInIsToldInTheExchange) {
  for (const std::int32_t sync : {GRADSTEP_SYNC_PARAMETERS, GRADSTEP_SYNC_PARAMETERS_PARTIAL, GRADSTEP_SYNC_DELTAS}) {
    run_ranks(
        3,
        [&](Communicator& comm) {
          Replica::Setup setup;
          setup.steps = 1;
          setup.options.sync = sync;
          Replica replica(&comm, setup);
          push(replica, 0);
          const auto before = replica.params[0].values;
          if (comm.rank() == 2) replica.optimizer->set_schedule(-1, "learning_rate", Schedule(0.5));
          expect_error(GRADSTEP_ERR_MISMATCH, "'learning_rate'", [&] { push(replica, 1); });
          if (sync == GRADSTEP_SYNC_DELTAS) {
            EXPECT_EQ(replica.params[0].values, before);
          }
          replica.optimizer->set_schedule(-1, "learning_rate", Schedule(0.5));
          EXPECT_TRUE(replica.flush()) << "now all have it, and the step is still there";
        },
        3000);
  }
}

TEST(Agreement, OtherNumbersOfLocalStepsAreTold) {
  run_ranks(
      2,
      [](Communicator& comm) {
        Replica::Setup setup;
        setup.steps = 1;
        setup.options.sync = GRADSTEP_SYNC_PARAMETERS;
        setup.options.sync_steps = 1 + comm.rank();
        Replica replica(&comm, setup);
        auto grads = micro_batch(0);
        if (comm.rank() == 1) replica.push(grads);
        expect_error(GRADSTEP_ERR_MISMATCH, "options.sync_steps", [&] { replica.push(grads); });
      },
      3000);
}

TEST(Agreement, AFlushThatMeetsAFullWindowIsTold) {
  run_ranks(
      2,
      [](Communicator& comm) {
        Replica::Setup setup;
        setup.steps = 4;
        Replica replica(&comm, setup);
        for (std::uint32_t i = 0; i < 4; ++i) push(replica, i);
        const auto before = replica.params[0].values;
        push(replica, 4);
        const auto end = [&] {
          if (comm.rank() == 0) {
            replica.flush();
          } else {
            for (std::uint32_t i = 5; i < 8; ++i) push(replica, i);
          }
        };
        expect_error(GRADSTEP_ERR_MISMATCH, "micro-batches", end);
        EXPECT_EQ(replica.params[0].values, before);
      },
      3000);
}

}  // namespace
}  // namespace gradstep::test
