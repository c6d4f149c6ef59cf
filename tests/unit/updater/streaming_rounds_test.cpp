// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Streaming DiLoCo: fragments of the model whose rounds end in turn, and whose changes travel behind the ranks' steps.
#include <array>
#include <limits>

#include "tests/unit/updater/round_replica.h"
#include "unit/failing_loops.h"

namespace gradstep::test {
namespace {

RoundSetup streaming(std::int32_t length, std::int32_t fragments, std::int32_t delay, double mix) {
  RoundSetup setup;
  setup.length = length;
  setup.fragments = fragments;
  setup.delay = delay;
  setup.mix = mix;
  return setup;
}

float gradient_of(std::int32_t rank, int window) { return static_cast<float>(1 + rank + (window % 3)); }

/// arXiv 2501.18512 for one number of each fragment, by constant gradients.
class Reference {
 public:
  Reference(const RoundSetup& setup, std::size_t ranks)
      : setup_(setup),
        params_(ranks, std::vector<double>(static_cast<std::size_t>(setup.fragments), 100)),
        start_(params_[0]),
        momentum_(start_.size()),
        change_(start_.size()) {}

  void step() {
    for (std::size_t r = 0; r < params_.size(); ++r) {
      for (double& p : params_[r]) p -= gradient_of(static_cast<std::int32_t>(r), windows_);
    }
    ++windows_;
    const int turn = setup_.length / setup_.fragments;
    const auto due = static_cast<std::size_t>((windows_ - 1) / turn % setup_.fragments);
    const int in_turn = (windows_ - 1) % turn + 1;
    if (in_turn == turn - setup_.delay) {
      change_[due] = start_[due];
      for (const auto& rank : params_) change_[due] -= rank[due] / static_cast<double>(params_.size());
    }
    if (in_turn < turn) return;
    momentum_[due] = 0.9 * momentum_[due] + change_[due];
    start_[due] -= 0.7 * (change_[due] + 0.9 * momentum_[due]);
    for (auto& rank : params_) rank[due] = (1 - setup_.mix) * start_[due] + setup_.mix * rank[due];
  }
  double param(std::int32_t rank, std::size_t fragment) const {
    return params_[static_cast<std::size_t>(rank)][fragment];
  }

 private:
  RoundSetup setup_;
  std::vector<std::vector<double>> params_;  // by rank and fragment
  std::vector<double> start_, momentum_, change_;
  int windows_ = 0;
};

/// By parameter, where each is a bucket.
std::size_t fragment_of(std::size_t parameter, const RoundSetup& setup) {
  return setup.fragments == 2 ? std::min<std::size_t>(parameter, 1)
                              : parameter % static_cast<std::size_t>(setup.fragments);
}

void expect_as(const Reference& reference, const RoundReplica& replica, const RoundSetup& setup, std::int32_t rank) {
  for (std::size_t i = 0; i < replica.params.size(); ++i) {
    for (const float x : replica.params[i].values) {
      ASSERT_NEAR(x, reference.param(rank, fragment_of(i, setup)), 1e-3) << "parameter " << i;
    }
  }
}

TEST(StreamingRounds, FragmentsEndTheirRoundsInTurn) {
  const std::array setups = {streaming(6, 3, 0, 0), streaming(6, 2, 1, 0),   streaming(6, 3, 1, 0.25),
                             streaming(4, 1, 3, 0), streaming(4, 1, 0, 0.5), streaming(8, 2, 2, 0.25)};
  for (const RoundSetup& setup : setups) {
    for (const std::int32_t ranks : {1, 2, 3}) {
      SCOPED_TRACE(fmt::format("{} windows, {} fragments, delay {}, mix {}, {} ranks", setup.length, setup.fragments,
                               setup.delay, setup.mix, ranks));
      run_ranks(ranks, [&](Communicator& comm) {
        RoundReplica replica(&comm, setup);
        Reference reference(setup, static_cast<std::size_t>(ranks));
        const int windows = 24;  // at whose end nothing travels
        for (int t = 0; t < windows; ++t) {
          reference.step();
          EXPECT_TRUE(replica.push(gradient_of(comm.rank(), t)));
          expect_as(reference, replica, setup, comm.rank());
        }
        EXPECT_EQ(replica.outer->step_count(), windows / (setup.length / setup.fragments));
      });
    }
  }
}

/// Without a reducer there is one bucket.
TEST(StreamingRounds, AloneTheChangeIsThatOfSomeWindowsBefore) {
  const RoundSetup setup = streaming(4, 1, 2, 0.25);
  RoundReplica replica(nullptr, setup);
  Reference reference(setup, 1);
  for (int t = 0; t < 12; ++t) {
    reference.step();
    replica.push(gradient_of(0, t));
    expect_as(reference, replica, setup, 0);
  }
}

TEST(StreamingRounds, OneFragmentAtATimeTravels) {
  run_ranks(2, [](Communicator& comm) {
    RoundReplica replica(&comm, streaming(6, 3, 1, 0));
    const auto exchanges = [&] {
      std::vector<std::int64_t> counts;
      for (const auto& bucket : replica.reducer->bucket_stats()) counts.push_back(bucket.exchanges);
      return counts;
    };
    for (int t = 0; t < 2; ++t) replica.push(1);
    EXPECT_EQ(exchanges(), (std::vector<std::int64_t>{0, 0, 1})) << "the first buckets have the last parameters";
    for (int t = 0; t < 4; ++t) replica.push(1);
    EXPECT_EQ(exchanges(), (std::vector<std::int64_t>{1, 1, 1}));
  });
}

TEST(StreamingRounds, EveryReducerModeCarriesFragments) {
  for (std::int32_t mode = GRADSTEP_REDUCER_DENSE; mode <= GRADSTEP_REDUCER_FP8_E5M2; ++mode) {
    SCOPED_TRACE(mode);
    run_ranks(2, [&](Communicator& comm) {
      RoundSetup setup = streaming(4, 2, 1, 0);
      setup.reducer_mode = mode;
      RoundReplica replica(&comm, setup);
      for (std::uint32_t i = 0; i < 16; ++i) EXPECT_TRUE(replica.push_numbers(comm.rank(), i));
      EXPECT_EQ(replica.outer->step_count(), 8);
      const std::vector<float> last(replica.params[2].values);
      expect_equal_on_all(comm, last);
    });
  }
}

TEST(StreamingRounds, AnOuterOptimizerThatIsShardedMakesTheSameSteps) {
  run_ranks(3, [](Communicator& comm) {
    const RoundSetup setup = streaming(6, 3, 1, 0.5);
    RoundReplica whole(&comm, setup);
    RoundReplica sharded(&comm, setup);
    sharded.outer->attach(&comm, {});
    for (std::uint32_t i = 0; i < 13; ++i) {
      whole.push_numbers(comm.rank(), i);
      sharded.push_numbers(comm.rank(), i);
    }
    EXPECT_EQ(whole.numbers(), sharded.numbers());
  });
}

/// At every window of a round: before a change leaves, on its way, and when it has been taken in.
TEST(StreamingRounds, AreSavedAnywhereAndResumed) {
  for (const std::int32_t mode : {GRADSTEP_REDUCER_DENSE, GRADSTEP_REDUCER_INT8}) {
    RoundSetup setup = streaming(6, 2, 2, 0.25);
    setup.reducer_mode = mode;
    setup.inner_momentum = 0.9;
    if (mode == GRADSTEP_REDUCER_DENSE) setup.average = GRADSTEP_AVERAGE_WEIGHTED;
    std::vector<float> undisturbed;
    run_ranks(2, [&](Communicator& comm) {
      RoundReplica replica(&comm, setup);
      for (std::uint32_t i = 0; i < 14; ++i) replica.push_numbers(comm.rank(), i);
      if (comm.rank() == 1) undisturbed = replica.numbers();
    });
    for (std::uint32_t at = 1; at < 8; ++at) {
      SCOPED_TRACE(at);
      std::string bytes;
      std::array<std::vector<TestTensor<float>>, 2> middle;
      run_ranks(2, [&](Communicator& comm) {
        RoundReplica replica(&comm, setup);
        for (std::uint32_t i = 0; i < at; ++i) replica.push_numbers(comm.rank(), i);
        const std::string saved = replica.save(comm);
        if (comm.rank() == 0) bytes = saved;
        middle[static_cast<std::size_t>(comm.rank())] = replica.params;
        for (std::uint32_t i = at; i < 14; ++i) replica.push_numbers(comm.rank(), i);
        if (comm.rank() == 1) {
          EXPECT_EQ(replica.numbers(), undisturbed) << "to save changes nothing";
        }
      });
      run_ranks(2, [&](Communicator& comm) {
        RoundReplica replica(&comm, setup);
        replica.updater->saved().load(read_bytes(bytes))();
        replica.params = middle[static_cast<std::size_t>(comm.rank())];
        for (std::uint32_t i = at; i < 14; ++i) replica.push_numbers(comm.rank(), i);
        if (comm.rank() == 1) {
          EXPECT_EQ(replica.numbers(), undisturbed);
        }
      });
      for (const std::int32_t ranks : {1, 3}) {
        run_ranks(ranks, [&](Communicator& comm) {
          RoundReplica replica(&comm, setup);
          replica.updater->saved().load(read_bytes(bytes))();
          replica.params = middle[static_cast<std::size_t>(comm.rank() % 2)];
          for (std::uint32_t i = at; i < 14; ++i) replica.push_numbers(comm.rank(), i);
          EXPECT_EQ(replica.outer->step_count(), 14 / 3);
        });
      }
      RoundSetup other = setup;
      other.fragments = 3;
      other.delay = 0;
      run_ranks(1, [&](Communicator& comm) {
        RoundReplica replica(&comm, other);
        expect_error(GRADSTEP_ERR_MISMATCH, "options.outer_fragments: the saved updater has 2, this one 3",
                     [&] { replica.updater->saved().load(read_bytes(bytes)); });
      });
    }
  }
}

/// What was on its way is sent anew when its round ends.
TEST(StreamingRounds, ARecoveryAnywhereGoesOn) {
  for (int at = 1; at < 8; ++at) {
    SCOPED_TRACE(at);
    run_ranks(2, [&](Communicator& comm) {
      const RoundSetup setup = streaming(6, 2, 2, 0);
      RoundReplica replica(&comm, setup);
      for (int t = 0; t < at; ++t) replica.push(gradient_of(comm.rank(), t));
      replica.recover(&comm);
      for (int t = at; t < 12; ++t) EXPECT_TRUE(replica.push(gradient_of(comm.rank(), t)));
      EXPECT_EQ(replica.outer->step_count(), 4);
      expect_equal_on_all(comm, replica.params[1].values);
      replica.recover(nullptr);
      for (int t = 0; t < 6; ++t) EXPECT_TRUE(replica.push(1));
      EXPECT_EQ(replica.outer->step_count(), 6);
    });
  }
}

TEST(StreamingRounds, ARankThatIsBehindTakesTheOthersPlace) {
  for (std::uint32_t ahead = 4; ahead < 8; ++ahead) {
    run_ranks(2, [&](Communicator& comm) {
      RoundSetup setup = streaming(6, 1, 2, 0.25);
      RoundReplica replica(nullptr, setup);
      const std::uint32_t alone = comm.rank() == 0 ? 1 : ahead + 3;
      for (std::uint32_t i = 0; i < alone; ++i) replica.push_numbers(1, i);
      replica.recover(&comm);
      expect_equal_on_all(comm, replica.numbers());
      for (std::uint32_t i = 0; i < 12; ++i) replica.push_numbers(comm.rank(), i);
      EXPECT_EQ(replica.outer->step_count(), (ahead + 3 + 12) / 6);
    });
  }
}

/// Its own parameters are not mixed in.
TEST(StreamingRounds, AChangeThatIsNotFiniteLeadsBackToTheStart) {
  run_ranks(2, [](Communicator& comm) {
    RoundSetup setup = streaming(4, 2, 1, 0.25);
    setup.skips_nonfinite = true;
    RoundReplica replica(&comm, setup);
    if (comm.rank() == 1) replica.params[0].values[7] = std::numeric_limits<float>::quiet_NaN();
    replica.push(1);
    replica.params[0].values[7] = 99;
    EXPECT_EQ(replica.push(1), replica.decides_later());
    EXPECT_EQ(replica.outer->step_count(), 0);
    EXPECT_EQ(replica.params[0].values[0], 100);
    EXPECT_EQ(replica.params[1].values[0], 98) << "the other fragment's round goes on";
    replica.push(1);
    EXPECT_TRUE(replica.push(1));
    EXPECT_EQ(replica.outer->step_count(), 1);
  });
}

TEST(StreamingRounds, ARankThatCannotStepIsHeardOfWhereItsChangeWouldLeave) {
  run_ranks(2, [](Communicator& comm) {
    RoundReplica replica(&comm, streaming(6, 2, 1, 0));
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
    EXPECT_TRUE(comm.rank() == 1 ? replica.push(1) : replica.flush());
    EXPECT_EQ(replica.first(), 98);
    EXPECT_TRUE(replica.push(1));
    EXPECT_FLOAT_EQ(replica.first(), by_nesterov({2}));
  });
}

TEST(StreamingRounds, TheReducerIsTheUpdatersWhileAChangeIsOnItsWay) {
  run_ranks(2, [](Communicator& comm) {
    RoundReplica replica(&comm, streaming(3, 1, 2, 0));
    replica.push(1);
    TestTensor<float> grad({40, 5});
    expect_error(GRADSTEP_ERR_INVALID_STATE, "on their way", [&] { host::push(*replica.reducer, 0, grad.tensor()); });
    expect_error(GRADSTEP_ERR_INVALID_STATE, "on their way", [&] { replica.reducer->wait({}); });
    expect_error(GRADSTEP_ERR_INVALID_STATE, "window", [&] { replica.reducer->begin(1); });
    replica.push(1);
    replica.push(1);
    EXPECT_EQ(replica.outer->step_count(), 1);
    EXPECT_FLOAT_EQ(replica.first(), 100 - 0.7F * 1.9F);
  });
}

TEST(StreamingRounds, ErrorsNameTheOption) {
  const auto create = [](const RoundSetup& setup) { RoundReplica replica(nullptr, setup); };
  create(streaming(6, 0, 0, 0));  // as an older version leaves it
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "options.outer_fragments: is -1",
               [&] { create(streaming(6, -1, 0, 0)); });
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "options.outer_fragments: is 4, expected a divisor of sync_steps = 6",
               [&] { create(streaming(6, 4, 0, 0)); });
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "options.outer_fragments: is 2, expected at most the 1 buckets",
               [&] { create(streaming(6, 2, 0, 0)); });
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "options.outer_delay: is 6, expected 0 to",
               [&] { create(streaming(6, 1, 6, 0)); });
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "options.outer_mix: is 1", [&] { create(streaming(6, 1, 0, 1)); });
}

}  // namespace
}  // namespace gradstep::test
