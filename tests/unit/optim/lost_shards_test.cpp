// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// After a peer is gone: the ranks that are left attach their new communicator and load, whatever call has found out,
// and on whichever of them.
#include <functional>

#include "comm/all_or_none.h"
#include "unit/optim/shampoo/shampoo_fixture.h"
#include "unit/ranks.h"
#include "unit/recorded_log.h"

namespace gradstep::test {
namespace {

using MakeOptimizer = std::function<std::unique_ptr<Optimizer>()>;

gradstep_adam_options adam() {
  auto o = default_options<gradstep_adam_options>();
  o.learning_rate = 0.01;
  return o;
}

std::vector<gradstep_sharding_options> shardings() {
  std::vector<gradstep_sharding_options> all(2);
  all[1].preconditioners = GRADSTEP_SHARDED_PRECONDITIONERS_OWNED;
  return all;
}

std::vector<MakeOptimizer> optimizers() {
  auto lagging = shampoo_options();
  lagging.root_lag = 2;
  return {[] { return make_optimizer(adam()); }, [lagging] { return make_shampoo(lagging); }};
}

std::string file_of(Optimizer& optimizer) { return saved_bytes("optimizer", {{"", save_optimizer(optimizer)}}); }

void load(Optimizer& optimizer, const std::string& bytes) {
  const StateFile file = read_bytes(bytes);
  LoadedPart part(file, "");
  load_optimizer(part, optimizer)();
}

/// A rank that is left.
struct Survivor {
  Optimizer& optimizer;
  Model<float>& model;
  std::int32_t rank;
};
using FindOut = std::function<void(const Survivor&)>;

/// Three ranks train, and are saved. Rank 2 goes, ranks 0 and 1 find it out or not, attach each other and load: they go
/// on as a rank that was alone from the beginning.
void expect_goes_on(const FindOut& find_out) {
  for (const MakeOptimizer& make : optimizers()) {
    Model<float> expected;
    const auto alone = make();
    run(expected, *alone, 0, 3);
    const std::string file = file_of(*alone);
    const Model<float> saved = expected;
    run(expected, *alone, 3, 6);
    for (gradstep_sharding_options sharding : shardings()) {
      sharding.gradients = GRADSTEP_SHARDED_GRADIENTS_REDUCED;
      CommSettings settings;
      settings.timeout_ms = 20000;
      const auto next = make_local_communicators(make_context(), 2, settings);
      run_ranks(3, [&](Communicator& comm) {
        Model<float> model;
        const auto optimizer = make();
        optimizer->attach(&comm, sharding);
        run(model, *optimizer, 0, 3);
        comm.barrier(comm.deadline());
        if (comm.rank() == 2) return comm.abort();
        find_out({*optimizer, model, comm.rank()});
        Communicator& left = *next[static_cast<std::size_t>(comm.rank())];
        optimizer->attach(&left, sharding);
        EXPECT_EQ(optimizer->sharding()->comm().world_size(), 2);
        expect_error(GRADSTEP_ERR_INVALID_STATE, "is lost: load", [&] { model.step(*optimizer); });
        expect_error(GRADSTEP_ERR_INVALID_STATE, "is lost: load", [&] { save_optimizer(*optimizer); });
        load(*optimizer, file);
        model = saved;
        run(model, *optimizer, 3, 6);
        expect_equal_params(model, expected);
      });
    }
  }
}

void fail_a_step(const Survivor& own) { EXPECT_THROW(own.model.step(own.optimizer), Error); }

/// The vote in which a collective save, load or read finds a peer gone.
void fail_a_vote(const Survivor& own) {
  Communicator& comm = own.optimizer.sharding()->comm();
  EXPECT_THROW(all_or_none(&comm, "save", [] {}), Error);
}

TEST(LostShards, AfterAFailedStepSurvivorsAttachAndLoad) { expect_goes_on(fail_a_step); }

TEST(LostShards, SurvivorsAStepApartAttachAndLoad) {
  expect_goes_on([](const Survivor& own) {
    fail_a_step(own);
    // As after an exchange that succeeded on one rank alone. Shampoo would ask the peers for roots first.
    if (own.rank == 1 && std::string(own.optimizer.kind()) == "adam")
      own.optimizer.set_step_count(own.optimizer.step_count() + 1);
  });
}

TEST(LostShards, AfterAFailedSaveSurvivorsAttachAndLoad) { expect_goes_on(fail_a_vote); }

TEST(LostShards, ARankThatHasNoticedNothingAttachesAsTheOthersDo) {
  expect_goes_on([](const Survivor& own) {
    if (own.rank == 0) fail_a_step(own);
  });
  expect_goes_on([](const Survivor& own) {
    if (own.rank == 1) fail_a_vote(own);
  });
}

TEST(LostShards, NobodyNeedsToHaveNoticedAnything) {
  expect_goes_on([](const Survivor&) {});
}

TEST(LostShards, WithoutACommunicatorEachRankLoadsAlone) {
  for (const MakeOptimizer& make : optimizers()) {
    for (const gradstep_sharding_options& sharding : shardings()) {
      run_ranks(3, [&](Communicator& comm) {
        Model<float> model;
        const auto optimizer = make();
        const std::string file = file_of(*optimizer);
        optimizer->attach(&comm, sharding);
        run(model, *optimizer, 0, 3);
        comm.barrier(comm.deadline());
        if (comm.rank() == 2) return comm.abort();
        if (comm.rank() == 0) {
          fail_a_vote({*optimizer, model, 0});
        } else {  // the first one to ask the peers
          EXPECT_THROW(optimizer->attach(nullptr, {}), Error);
        }
        optimizer->attach(nullptr, {});
        EXPECT_FALSE(optimizer->is_sharded());
        expect_error(GRADSTEP_ERR_INVALID_STATE, "is lost: load", [&] { model.step(*optimizer); });
        load(*optimizer, file);
        EXPECT_EQ(file_of(*optimizer), file);
        EXPECT_TRUE(model.step(*optimizer).applied);
      });
    }
  }
}

TEST(LostShards, ALostStateIsDealtOutBySlices) {
  constexpr std::int64_t kChunks = 16;
  CommSettings settings;
  settings.timeout_ms = 20000;
  const auto next = make_local_communicators(make_context(), 2, settings);
  run_ranks(3, [&](Communicator& comm) {
    FirstOrderOptimizer optimizer(make_context(), make_rule(adam()), make_schema({{kChunks * kChunk}}));
    optimizer.attach(&comm, {});
    if (comm.rank() == 2) return comm.abort();
    optimizer.attach(next[static_cast<std::size_t>(comm.rank())].get(), {});
    EXPECT_EQ(bytes_held(optimizer), 2 * 4 * kChunks * kChunk / 2);
  });
}

// What a rank keeps to itself cannot be dealt out with what the others have.
TEST(LostShards, AStateThatIsLostOnOneRankIsLostOnAll) {
  run_ranks(2, [](Communicator& comm) {
    const auto pair = comm.dup(comm.deadline());
    Model<float> model;
    const auto optimizer = make_optimizer(adam());
    const std::string file = file_of(*optimizer);
    if (comm.rank() == 0) {  // shares its state with no rank, and loses it
      CommSettings settings;
      const auto alone = make_self_communicator(make_context(), settings);
      optimizer->attach(alone.get(), {});
      alone->abort();
    }
    optimizer->attach(pair.get(), {});
    expect_error(GRADSTEP_ERR_INVALID_STATE, "is lost: load", [&] { model.step(*optimizer); });
    load(*optimizer, file);
    EXPECT_TRUE(model.step(*optimizer).applied);
  });
}

TEST(LostShards, IsInTheLog) {
  RecordedLog records;
  const auto context = records.context();
  run_ranks(2, [&](Communicator& comm) {
    FirstOrderOptimizer optimizer(context, make_rule(adam()), make_schema(kShapes));
    optimizer.attach(&comm, {});
    comm.barrier(comm.deadline());
    comm.abort();
    optimizer.attach(nullptr, {});
  });
  EXPECT_EQ(records.count(GRADSTEP_LOG_WARNING, "optimizer adam: its state is lost with a peer"), 2);
}

}  // namespace
}  // namespace gradstep::test
