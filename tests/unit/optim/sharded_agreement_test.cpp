// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What ranks that share state must agree on: they get an error before a step, and nothing is lost.
#include <limits>

#include "optim/sharding.h"
#include "unit/optim/ranked_model.h"
#include "unit/ranks.h"

namespace gradstep::test {
namespace {

/// After one step with shared state.
struct Trained {
  explicit Trained(Communicator& comm) : optimizer(make_context(), make_rule(adam()), model.schema) {
    optimizer.attach(&comm, {});
    EXPECT_TRUE(model.step(optimizer).applied);
  }
  Ranked model{DType::f32};
  FirstOrderOptimizer optimizer;
};

TEST(ShardedAgreement, RanksWithOtherOptionsAreRefused) {
  using Change = void (*)(gradstep_adam_options&);
  constexpr Change kChanges[] = {
      [](gradstep_adam_options& o) { o.amsgrad = 1; },
      [](gradstep_adam_options& o) { o.maximize = 1; },
      [](gradstep_adam_options& o) { o.decoupled_weight_decay = 1; },
      [](gradstep_adam_options& o) { o.state_dtype = GRADSTEP_STATE_DTYPE_BF16; },
      [](gradstep_adam_options& o) { o.master_weights = 1; },
      [](gradstep_adam_options& o) { o.seed = 7; },
  };
  run_ranks(2, [&](Communicator& comm) {
    for (const Change change : kChanges) {
      auto o = adam();
      if (comm.rank() == 1) change(o);
      FirstOrderOptimizer optimizer(make_context(), make_rule(o), make_schema({{5}}));
      expect_error(GRADSTEP_ERR_MISMATCH, "the rule or its options", [&] { optimizer.attach(&comm, {}); });
      EXPECT_FALSE(optimizer.is_sharded());
    }
  });
}

TEST(ShardedAgreement, RanksThatDisagreeAreToldAndNothingChanges) {
  run_ranks(2, [](Communicator& comm) {
    auto context = make_context();
    const Schema schema = make_schema(comm.rank() == 0 ? std::vector<std::vector<std::int64_t>>{{5}}
                                                       : std::vector<std::vector<std::int64_t>>{{6}});
    FirstOrderOptimizer optimizer(context, make_rule(adam()), schema);
    expect_error(GRADSTEP_ERR_MISMATCH, "the parameters' shapes", [&] { optimizer.attach(&comm, {}); });
    EXPECT_FALSE(optimizer.is_sharded());
    Ranked model(DType::f32);
    FirstOrderOptimizer other(context, make_rule(adam()), model.schema);
    other.attach(&comm, {});
    StepGuards guards;
    guards.max_norm = comm.rank();  // one asks for clipping, the other does not
    expect_error(GRADSTEP_ERR_MISMATCH, "disagree on max_norm", [&] { model.step(other, guards); });
    float found_inf = 0;
    if (comm.rank() == 1) guards.found_inf = &found_inf;
    guards.max_norm = 0;
    expect_error(GRADSTEP_ERR_MISMATCH, "1 of 2 ranks", [&] { model.step(other, guards); });
    EXPECT_TRUE(model.step(other).applied) << "nothing was lost";
  });
}

/// f, once as a host's callback.
Schedule scheduled_by(gradstep_status (*f)(void*, std::int64_t, double*), void* user) {
  gradstep_schedule schedule{};
  schedule.struct_size = sizeof schedule;
  schedule.kind = GRADSTEP_SCHEDULE_CALLBACK;
  schedule.function = f;
  schedule.user = user;
  return Schedule("schedule", &schedule);
}

TEST(ShardedAgreement, RanksWithOtherHyperParametersCannotShareState) {
  run_ranks(2, [](Communicator& comm) {
    FirstOrderOptimizer optimizer(make_context(), make_rule(adam()), make_schema({{5}}));
    if (comm.rank() == 1) optimizer.set_schedule(-1, "beta2", Schedule(0.5));
    expect_error(GRADSTEP_ERR_MISMATCH, "'beta2'", [&] { optimizer.attach(&comm, {}); });
    EXPECT_FALSE(optimizer.is_sharded());
    optimizer.set_schedule(-1, "beta2", Schedule(0.5));
    EXPECT_NO_THROW(optimizer.attach(&comm, {}));
  });
}

TEST(ShardedAgreement, WhatOneRankAloneChangesIsToldToAllBeforeAStepAndNothingIsLost) {
  run_ranks(3, [](Communicator& comm) {
    Trained trained(comm);
    auto& [model, optimizer] = trained;
    const auto before = model.params;
    if (comm.rank() == 0) optimizer.set_schedule(-1, "learning_rate", Schedule(0.3));
    expect_error(GRADSTEP_ERR_MISMATCH, "'learning_rate'", [&] { model.step(optimizer); });
    EXPECT_EQ(model.params, before);
    optimizer.set_schedule(-1, "learning_rate", Schedule(0.3));
    EXPECT_TRUE(model.step(optimizer).applied) << "now all have it";

    double rate = comm.rank() == 1 ? 0.2 : 0.1;
    const auto read = [](void* user, std::int64_t, double* value) {
      *value = *static_cast<double*>(user);
      return gradstep_status{GRADSTEP_OK};
    };
    optimizer.set_schedule(-1, "learning_rate", scheduled_by(read, &rate));
    expect_error(GRADSTEP_ERR_MISMATCH, "'learning_rate'", [&] { model.step(optimizer); });
    rate = 0.1;
    EXPECT_TRUE(model.step(optimizer).applied) << "callbacks that give the same value";

    StepGuards guards;
    guards.grad_scale = comm.rank() == 2 ? 0.5 : 1;
    expect_error(GRADSTEP_ERR_MISMATCH, "disagree on grad_scale", [&] { model.step(optimizer, guards); });
    if (comm.rank() == 2) optimizer.set_step_count(7);
    expect_error(GRADSTEP_ERR_MISMATCH, "disagree on the step count", [&] { model.step(optimizer); });
    optimizer.set_step_count(7);
    EXPECT_TRUE(model.step(optimizer).applied);
  });
}

TEST(ShardedAgreement, AScheduleThatFailsOnOneRankStopsTheStepOnAllAndNothingIsLost) {
  run_ranks(3, [](Communicator& comm) {
    Trained trained(comm);
    auto& [model, optimizer] = trained;
    const auto before = model.params;
    double rate = comm.rank() == 1 ? std::numeric_limits<double>::quiet_NaN() : 0.1;
    const auto read = [](void* user, std::int64_t, double* value) {
      *value = *static_cast<double*>(user);
      return *value < 0 ? gradstep_status{GRADSTEP_ERR_CALLBACK} : gradstep_status{GRADSTEP_OK};
    };
    optimizer.set_schedule(-1, "learning_rate", scheduled_by(read, &rate));
    const auto expect_stopped = [&](gradstep_status own) {
      if (comm.rank() == 1) {
        expect_error(own, "", [&] { model.step(optimizer); });
      } else {
        expect_error(GRADSTEP_ERR_ABORTED, "rank 1 could not begin the step", [&] { model.step(optimizer); });
      }
      EXPECT_EQ(model.params, before);
      EXPECT_TRUE(optimizer.wholeness().holds());
    };
    expect_stopped(GRADSTEP_ERR_NUMERIC);
    if (comm.rank() == 1) rate = -1;
    expect_stopped(GRADSTEP_ERR_CALLBACK);
    rate = 0.1;
    EXPECT_TRUE(model.step(optimizer).applied);
  });
}

}  // namespace
}  // namespace gradstep::test
