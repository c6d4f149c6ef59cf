// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Shampoo over several ranks: whatever is dealt out, the bits are those of one rank alone.
#include "unit/ranks.h"
#include "reduce/reducer.h"
#include "unit/optim/shampoo/shampoo_fixture.h"

namespace gradstep::test {
namespace {

constexpr auto kReplicated = GRADSTEP_SHARDED_PRECONDITIONERS_REPLICATED;
constexpr auto kOwned = GRADSTEP_SHARDED_PRECONDITIONERS_OWNED;

gradstep_sharding_options dealing_out(std::int32_t what) {
  gradstep_sharding_options options{};
  options.gradients = GRADSTEP_SHARDED_GRADIENTS_REDUCED;
  options.preconditioners = what;
  return options;
}

/// Parameters after `steps` on one rank and on several must be equal on all of them.
void expect_equal_bits(const gradstep_shampoo_options& o, std::int32_t what, std::uint32_t steps = 6) {
  Model<float> expected;
  run(expected, *make_shampoo(o), 0, steps);
  for (const std::int32_t ranks : {1, 2, 3, 5}) {
    run_ranks(ranks, [&](Communicator& comm) {
      Model<float> model;
      auto optimizer = make_shampoo(o);
      optimizer->attach(&comm, dealing_out(what));
      run(model, *optimizer, 0, steps);
      SCOPED_TRACE(testing::Message() << "rank " << comm.rank() << " of " << ranks << ", dealt out: " << what);
      expect_equal_params(model, expected);
    });
  }
}

TEST(ShampooRanks, EqualsOneRankBitForBit) {
  for (const std::int32_t what : {kReplicated, kOwned}) {
    auto o = shampoo_options();
    o.weight_decay = 0.1;
    expect_equal_bits(o, what);
    o.root_method = GRADSTEP_ROOT_METHOD_COUPLED_NEWTON;
    o.preconditioning_compute_steps = 2;
    expect_equal_bits(o, what);
    o.quantize_momentum = o.quantize_statistics = 1;
    expect_equal_bits(o, what);
    o.one_sided = GRADSTEP_ONE_SIDED_OUTPUT;
    expect_equal_bits(o, what);
  }
}

TEST(ShampooRanks, EqualsItWithStatisticsOfKl) {
  for (const std::int32_t what : {kReplicated, kOwned}) {
    auto o = shampoo_options();
    o.statistics = GRADSTEP_SHAMPOO_STATISTICS_KL;
    expect_equal_bits(o, what);
    o.statistics = GRADSTEP_SHAMPOO_STATISTICS_KL_MEAN;
    o.ridge = GRADSTEP_RIDGE_ABSOLUTE;
    o.exponent_override = 2;
    o.preconditioning_compute_steps = 2;
    o.root_lag = 3;
    expect_equal_bits(o, what, 8);
  }
}

TEST(ShampooRanks, EqualsItWithLaggingRoots) {
  for (const std::int32_t what : {kReplicated, kOwned}) {
    for (const std::int32_t lag : {1, 3}) {
      auto o = shampoo_options();
      o.root_lag = lag;
      expect_equal_bits(o, what, 8);
    }
  }
}

TEST(ShampooRanks, EqualsItInTheEigenvalueCorrectedMode) {
  auto o = shampoo_options();
  o.eigenvalue_corrected = 1;
  o.preconditioning_compute_steps = 2;
  expect_equal_bits(o, kReplicated);
  run_ranks(2, [&](Communicator& comm) {
    auto optimizer = make_shampoo(o);
    expect_error(GRADSTEP_ERR_UNSUPPORTED, "OWNED", [&] { optimizer->attach(&comm, dealing_out(kOwned)); });
    EXPECT_FALSE(optimizer->is_sharded());
  });
}

TEST(ShampooRanks, EqualsADenseReducerBeforeIt) {
  for (const std::int32_t what : {kReplicated, kOwned}) {
    run_ranks(
        3,
        [&](Communicator& comm) {
          Model<float> model;
          Model<float> expected;
          const auto context = make_context();
          const Schema schema = make_schema(kShapes);
          auto sharded = make_shampoo(shampoo_options());
          auto alone = make_shampoo(shampoo_options());
          gradstep_sharding_options options = dealing_out(what);
          options.gradients = GRADSTEP_SHARDED_GRADIENTS_LOCAL;
          sharded->attach(&comm, options);
          const auto channel = comm.dup(comm.deadline());
          Reducer reducer(context, *channel, default_reducer_options(), schema);
          StepGuards guards;
          guards.max_norm = 3;
          for (std::uint32_t t = 0; t < 5; ++t) {
            const auto seed = 100 * t + static_cast<std::uint32_t>(comm.rank());
            model.draw_gradients(seed);
            expected.draw_gradients(seed);
            model.step(*sharded, guards);
            const auto g = Model<float>::tensors(expected.grads);
            host::reduce(reducer, g.data(), nullptr, g.size(), 1);
            std::vector<gradstep_tensor> views(g.size());
            host::read_gradients(reducer, views);
            const auto p = Model<float>::tensors(expected.params);
            host::step(*alone, p.data(), views.data(), nullptr, p.size(), guards);
            expect_equal_params(model, expected);
          }
        },
        20000, GRADSTEP_REDUCTION_RANK);
  }
}

TEST(ShampooRanks, EveryRootIsComputedOnce) {
  auto o = shampoo_options();
  o.root_method = GRADSTEP_ROOT_METHOD_COUPLED_NEWTON;
  std::vector<double> own(3);
  double all = 0;
  run_ranks(3, [&](Communicator& comm) {
    Model<float> model;
    auto optimizer = make_shampoo(o);
    optimizer->attach(&comm, dealing_out(kOwned));
    run(model, *optimizer, 0, 1);
    own[static_cast<std::size_t>(comm.rank())] = metric_of(*optimizer, "root_iterations");
  });
  Model<float> model;
  auto alone = make_shampoo(o);
  run(model, *alone, 0, 1);
  all = metric_of(*alone, "root_iterations");
  EXPECT_EQ(own[0] + own[1] + own[2], all);
  for (const double part : own) EXPECT_LT(part, 0.5 * all);
}

TEST(ShampooRanks, OwnedStateIsOnOneRankOnlyAndReadableOnAll) {
  Model<float> expected;
  auto alone = make_shampoo(shampoo_options());
  run(expected, *alone, 0, 3);
  std::vector<std::int64_t> factors(3);
  run_ranks(3, [&](Communicator& comm) {
    Model<float> model;
    auto optimizer = make_shampoo(shampoo_options());
    optimizer->attach(&comm, dealing_out(kOwned));
    run(model, *optimizer, 0, 3);
    for (const char* name : {"statistics.0.0", "preconditioners.1.1", "preconditioners.3.0", "momentum"}) {
      EXPECT_EQ(copy_of_state(*optimizer, 0, name), copy_of_state(*alone, 0, name)) << name;
    }
    expect_error(GRADSTEP_ERR_UNSUPPORTED, "get_state", [&] { optimizer->state().view(0, "momentum"); });
    for (const StoredState& stored : optimizer->state().stored()) {
      if (stored.owner >= 0) factors[static_cast<std::size_t>(comm.rank())] += stored.array.bytes();
      EXPECT_EQ(stored.array.size, stored.owner < 0 || stored.owner == comm.rank() ? stored.total : 0);
    }
  });
  std::int64_t sum = 0;
  for (const StoredState& stored : alone->state().stored()) {
    if (stored.name.find("statistics.") == 0 || stored.name.find("preconditioners.") == 0) sum += stored.array.bytes();
  }
  EXPECT_EQ(factors[0] + factors[1] + factors[2], sum);
}

TEST(ShampooRanks, ASetStateReachesItsOwner) {
  run_ranks(3, [&](Communicator& comm) {
    auto optimizer = make_shampoo(shampoo_options());
    optimizer->attach(&comm, dealing_out(kOwned));
    std::vector<float> values(16);
    for (std::size_t k = 0; k < 16; ++k) values[k] = static_cast<float>(k);
    for (const char* name : {"statistics.0.0", "statistics.1.0", "statistics.2.1"}) {
      const auto size = static_cast<std::int64_t>(copy_of_state(*optimizer, 0, name).size());
      optimizer->state().set(0, name, {values.data(), size, DType::f32, 0, nullptr, nullptr});
      const auto read = copy_of_state(*optimizer, 0, name);
      EXPECT_TRUE(std::equal(read.begin(), read.end(), values.begin()));
    }
  });
}

TEST(ShampooRanks, ResumesOnAnotherNumberOfRanks) {
  for (const std::int32_t what : {kReplicated, kOwned}) {
    for (const std::int32_t coded : {0, 1}) {
      auto o = shampoo_options();
      o.root_lag = 2;
      o.quantize_statistics = coded;
      Model<float> expected;
      run(expected, *make_shampoo(o), 0, 8);
      std::string bytes;
      Model<float> half;
      run_ranks(3, [&](Communicator& comm) {
        Model<float> model;
        auto optimizer = make_shampoo(o);
        optimizer->attach(&comm, dealing_out(what));
        run(model, *optimizer, 0, 4);
        Memory memory;
        write_state_file(comm.rank() == 0 ? &memory : nullptr, "optimizer", {{"", save_optimizer(*optimizer)}});
        if (comm.rank() != 0) return;
        bytes = memory.bytes;
        half = model;
      });
      for (const std::int32_t ranks : {1, 2}) {
        run_ranks(ranks, [&](Communicator& comm) {
          Model<float> model = half;
          auto optimizer = make_shampoo(o);
          if (ranks > 1) optimizer->attach(&comm, dealing_out(what));
          const StateFile file = read_bytes(bytes);
          LoadedPart part(file, "");
          load_optimizer(part, *optimizer)();
          run(model, *optimizer, 4, 8);
          expect_equal_params(model, expected);
        });
      }
    }
  }
}

TEST(ShampooRanks, CanBeDealtOutAnewAndGathered) {
  Model<float> expected;
  auto alone = make_shampoo(shampoo_options());
  run(expected, *alone, 0, 8);
  run_ranks(3, [&](Communicator& comm) {
    Model<float> model;
    auto optimizer = make_shampoo(shampoo_options());
    run(model, *optimizer, 0, 1);
    std::uint32_t t = 1;
    for (const std::int32_t what : {kOwned, kReplicated, kOwned, kOwned}) {
      optimizer->attach(&comm, dealing_out(what));
      run(model, *optimizer, t, t + 1);
      ++t;
    }
    optimizer->attach(nullptr, {});
    EXPECT_FALSE(optimizer->is_sharded());
    run(model, *optimizer, t, 8);
    expect_equal_params(model, expected);
    EXPECT_EQ(copy_of_state(*optimizer, 0, "preconditioners.2.0"), copy_of_state(*alone, 0, "preconditioners.2.0"));
  });
}

TEST(ShampooRanks, RanksWithOtherOptionsAreRefused) {
  run_ranks(2, [&](Communicator& comm) {
    auto o = shampoo_options();
    o.root_lag = comm.rank();
    auto optimizer = make_shampoo(o);
    expect_error(GRADSTEP_ERR_MISMATCH, "options", [&] { optimizer->attach(&comm, dealing_out(kReplicated)); });
    auto equal = make_shampoo(shampoo_options());
    expect_error(GRADSTEP_ERR_MISMATCH, "options",
                 [&] { equal->attach(&comm, dealing_out(comm.rank() == 0 ? kReplicated : kOwned)); });
    o = shampoo_options();
    o.master_weights = comm.rank();
    auto other = make_shampoo(o);
    expect_error(GRADSTEP_ERR_MISMATCH, "options", [&] { other->attach(&comm, dealing_out(kReplicated)); });
    for (const auto option : {&gradstep_shampoo_options::statistics, &gradstep_shampoo_options::ridge}) {
      o = shampoo_options();
      o.*option = comm.rank();
      auto unlike = make_shampoo(o);
      expect_error(GRADSTEP_ERR_MISMATCH, "options", [&] { unlike->attach(&comm, dealing_out(kReplicated)); });
    }
    o = shampoo_options();
    o.product_precision = comm.rank();
    auto rounding = make_shampoo(o);
    expect_error(GRADSTEP_ERR_MISMATCH, "options", [&] { rounding->attach(&comm, dealing_out(kReplicated)); });
  });
}

TEST(ShampooRanks, PreconditioningCannotBeSwitchedOnWhileBlocksAreOwned) {
  run_ranks(2, [&](Communicator& comm) {
    auto o = shampoo_options();
    o.precondition = 0;
    auto optimizer = make_shampoo(o);
    optimizer->attach(&comm, dealing_out(kOwned));
    expect_error(GRADSTEP_ERR_INVALID_STATE, "precondition",
                 [&] { optimizer->set_schedule(-1, "precondition", Schedule(1)); });
  });
}

TEST(ShampooRanks, AfterAFailedExchangeParametersAreAsBeforeAndTheStateIsLost) {
  for (const std::int32_t what : {kReplicated, kOwned}) {
    run_ranks(
        2,
        [&](Communicator& comm) {
          Model<float> model;
          auto optimizer = make_shampoo(shampoo_options());
          optimizer->attach(&comm, dealing_out(what));
          run(model, *optimizer, 0, 2);
          const auto before = model.params[0].values;
          if (comm.rank() == 1) return;  // leaves
          model.draw_gradients(2);
          EXPECT_ANY_THROW(model.step(*optimizer));
          EXPECT_EQ(model.params[0].values, before);
          expect_error(GRADSTEP_ERR_INVALID_STATE, "exchange", [&] { model.step(*optimizer); });
        },
        500);
  }
}

}  // namespace
}  // namespace gradstep::test
