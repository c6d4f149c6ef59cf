// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The failure promise, on the engines that can be tried inside one process: deadlines, the sticky first error, abort,
// interrupt, peers that leave.
#if !defined(_WIN32)
#include <sys/wait.h>
#include <unistd.h>
#endif

#include <atomic>
#include <thread>

#include "core/fork_generation.h"
#include "tests/unit/comm/worlds.h"

namespace gradstep::test {
namespace {

constexpr std::int64_t kTimeoutMs = 500;
constexpr std::int64_t kPromisedMs = kTimeoutMs + 1000;  // no call outlives its timeout by more than 1 s

std::vector<float> ones(std::size_t count) { return std::vector<float>(count, 1.0F); }

void sum(Communicator& comm, std::vector<float>& data, const Deadline& deadline) {
  const Array array{data.data(), static_cast<std::int64_t>(data.size()), DType::f32};
  comm.all_reduce(array, GRADSTEP_REDUCE_SUM, 1, deadline);
}

void sum(Communicator& comm, std::vector<float>& data) { sum(comm, data, comm.deadline()); }

class EveryEngineFails : public testing::TestWithParam<std::string> {
 protected:
  /// Ranks have time to meet, however busy the machine; what shall time out is given a deadline of its own.
  World world(std::int32_t ranks, const std::shared_ptr<Context>& context = make_context()) const {
    CommSettings settings;
    settings.timeout_ms = 20000;
    return make_world(GetParam(), ranks, settings, context);
  }
};

TEST_P(EveryEngineFails, AMissingPeerIsATimeoutWithinTheDeadline) {
  for (const std::size_t count : {std::size_t{10}, std::size_t{100000}}) {
    const World ranks = world(3);
    const auto outcomes = run_outcomes(ranks, [&](Communicator& comm) {
      if (comm.rank() == 2) return;
      auto data = ones(count);
      sum(comm, data, Deadline::after_ms(kTimeoutMs));
    });
    for (std::size_t r = 0; r < 2; ++r) {
      // The second to give up may see that the first has.
      EXPECT_TRUE(outcomes[r].status == GRADSTEP_ERR_TIMEOUT || outcomes[r].status == GRADSTEP_ERR_PEER_LOST)
          << outcomes[r].text;
      EXPECT_LE(outcomes[r].milliseconds, kPromisedMs);
    }
    EXPECT_TRUE(outcomes[0].status == GRADSTEP_ERR_TIMEOUT || outcomes[1].status == GRADSTEP_ERR_TIMEOUT);
  }
}

TEST_P(EveryEngineFails, TheFirstErrorIsSticky) {
  const World ranks = world(2);
  run_outcomes(ranks, [](Communicator& comm) {
    if (comm.rank() == 0) comm.barrier(Deadline::after_ms(kTimeoutMs));
  });
  const auto first = ranks[0]->status();
  EXPECT_EQ(first.code, GRADSTEP_ERR_TIMEOUT);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 3; ++i) {
    expect_error(first.code, first.text, [&] { ranks[0]->barrier(ranks[0]->deadline()); });
    auto data = ones(10);
    expect_error(first.code, first.text, [&] { sum(*ranks[0], data); });
    expect_error(first.code, first.text, [&] { ranks[0]->dup(ranks[0]->deadline()); });
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(kTimeoutMs)) << "they waited again";
}

TEST_P(EveryEngineFails, AbortFromAnotherThreadEndsAWaitingCall) {
  const World ranks = world(2);
  std::atomic<bool> waiting{false};
  std::atomic<bool> aborted{false};
  std::thread aborter([&] {
    while (!waiting) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    ranks[0]->abort();
    aborted = true;
  });
  const auto outcomes = run_outcomes(ranks, [&](Communicator& comm) {
    waiting = true;
    while (comm.rank() == 1 && !aborted) std::this_thread::yield();
    auto data = ones(100000);
    sum(comm, data);
  });
  aborter.join();
  EXPECT_EQ(outcomes[0].status, GRADSTEP_ERR_ABORTED) << outcomes[0].text;
  EXPECT_LT(outcomes[0].milliseconds, 2000);
  EXPECT_EQ(outcomes[1].status, GRADSTEP_ERR_PEER_LOST) << outcomes[1].text;
  EXPECT_LT(outcomes[1].milliseconds, 2000);
}

TEST_P(EveryEngineFails, AbortBetweenCallsBreaksTheNextOne) {
  const World ranks = world(2);
  ranks[0]->abort();
  ranks[0]->abort();
  const auto outcomes = run_outcomes(ranks, [](Communicator& comm) { comm.barrier(comm.deadline()); });
  EXPECT_EQ(outcomes[0].status, GRADSTEP_ERR_ABORTED);
  EXPECT_EQ(outcomes[1].status, GRADSTEP_ERR_PEER_LOST) << outcomes[1].text;
}

TEST_P(EveryEngineFails, TheHostsInterruptEndsAWaitingCall) {
  static std::atomic<bool> interrupted;
  interrupted = false;
  auto options = default_context_options();
  options.num_threads = 1;
  options.interrupt = [](void*) -> std::int32_t { return interrupted ? 1 : 0; };
  auto context = std::make_shared<Context>(options);
  context->add_backend({GRADSTEP_DEVICE_CPU, 0}, cpu::make_backend(*context));
  const World ranks = world(2, context);
  run(ranks, [](Communicator& comm) {  // the progress thread changes no result
    auto data = ones(100000);
    sum(comm, data);
    EXPECT_EQ(data, std::vector<float>(100000, 2.0F));
  });
  std::thread host([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    interrupted = true;
  });
  const auto outcomes = run_outcomes(ranks, [](Communicator& comm) {
    if (comm.rank() == 0) comm.barrier(comm.deadline());
  });
  host.join();
  EXPECT_EQ(outcomes[0].status, GRADSTEP_ERR_ABORTED) << outcomes[0].text;
  EXPECT_NE(outcomes[0].text.find("interrupted"), std::string::npos) << outcomes[0].text;
  EXPECT_LT(outcomes[0].milliseconds, 2000);
}

TEST_P(EveryEngineFails, APeerThatLeavesIsLostAtOnce) {
  World ranks = world(3);
  ranks[2].reset();
  const auto outcomes = run_outcomes(2, [&](std::int32_t rank) {
    auto data = ones(100000);
    sum(*ranks[static_cast<std::size_t>(rank)], data);
  });
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.status, GRADSTEP_ERR_PEER_LOST) << outcome.text;
    EXPECT_LT(outcome.milliseconds, 2000);
  }
}

TEST_P(EveryEngineFails, ARankThatLeavesAfterTheLastCallDisturbsNobody) {
  for (int round = 0; round < 10; ++round) {
    World ranks = world(4);
    const auto outcomes = run_outcomes(4, [&](std::int32_t rank) {
      auto& comm = ranks[static_cast<std::size_t>(rank)];
      auto data = ones(20000);
      sum(*comm, data);
      comm->barrier(comm->deadline());
      comm.reset();
    });
    for (const Outcome& outcome : outcomes) ASSERT_EQ(outcome.status, GRADSTEP_OK) << outcome.text;
  }
}

TEST_P(EveryEngineFails, ArgumentErrorsBreakNothing) {
  run(world(2), [](Communicator& comm) {
    if (GetParam() == "host_gather") {
      expect_error(GRADSTEP_ERR_UNSUPPORTED, "send", [&] { comm.send(nullptr, 1, 1, comm.deadline()); });
    }
    EXPECT_EQ(comm.status().code, GRADSTEP_OK);
    EXPECT_TRUE(comm.vote(true, comm.deadline()));
  });
}

TEST_P(EveryEngineFails, DestroyingABrokenCommunicatorDoesNotBlock) {
  World ranks = world(3);
  ranks[1]->abort();
  const auto begin = std::chrono::steady_clock::now();
  ranks.clear();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
}

#if !defined(_WIN32)  // which has no fork()
TEST_P(EveryEngineFails, AForkedChildCanDropACommunicator) {
  World ranks = world(2);
  run(ranks, [](Communicator& comm) { comm.barrier(comm.deadline()); });
  watch_forks();
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(10);  // a destroy that blocks ends as SIGALRM
    for (auto& comm : ranks) comm->abort();
    ranks.clear();
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  run(ranks, [](Communicator& comm) { EXPECT_TRUE(comm.vote(true, comm.deadline())); });
}
#endif

INSTANTIATE_TEST_SUITE_P(Failures, EveryEngineFails, testing::ValuesIn(engines()),
                         [](const auto& test_case) { return test_case.param; });

class Disagreement : public testing::TestWithParam<std::string> {};

TEST_P(Disagreement, RanksThatGatherDifferentSizesAreTold) {
  const World ranks = make_world(GetParam(), 2);
  const auto outcomes = run_outcomes(ranks, [](Communicator& comm) {
    std::vector<char> own(10);
    std::vector<char> all(20);
    comm.all_gather(own.data(), all.data(), 4 + comm.rank(), comm.deadline());
  });
  for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.status, GRADSTEP_ERR_MISMATCH) << outcome.text;
}

TEST_P(Disagreement, RanksThatSumDifferentSizesAreTold) {
  const World ranks = make_world(GetParam(), 2);
  const auto outcomes = run_outcomes(ranks, [](Communicator& comm) {
    auto data = ones(100000 + 1000 * static_cast<std::size_t>(comm.rank()));
    sum(comm, data);
  });
  for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.status, GRADSTEP_ERR_MISMATCH) << outcome.text;
}

#if defined(GRADSTEP_TEST_PLUGIN_DIR)
/// More than those of which each hears from all: a failure passes through other ranks.
constexpr std::int32_t kManyRanks = 18;

TEST(ManyRanksOverGlooFail, RanksThatGatherDifferentSizesAreTold) {
  const World ranks = make_world("gloo", kManyRanks);
  const auto outcomes = run_outcomes(ranks, [](Communicator& comm) {
    std::vector<char> own(10);
    std::vector<char> all(10 * kManyRanks);
    comm.all_gather(own.data(), all.data(), comm.rank() == 7 ? 5 : 4, comm.deadline());
  });
  for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.status, GRADSTEP_ERR_MISMATCH) << outcome.text;
}

TEST(ManyRanksOverGlooFail, RanksThatSumWhereOneMeetsAreTold) {
  const World ranks = make_world("gloo", kManyRanks);
  const auto outcomes = run_outcomes(ranks, [](Communicator& comm) {
    auto data = ones(100000);
    comm.rank() == 7 ? comm.barrier(comm.deadline()) : sum(comm, data);
  });
  for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.status, GRADSTEP_ERR_MISMATCH) << outcome.text;
}

TEST(ManyRanksOverGlooFail, APeerThatLeavesIsLostAtOnce) {
  World ranks = make_world("gloo", kManyRanks);
  ranks[7].reset();
  ranks.erase(ranks.begin() + 7);
  const auto outcomes = run_outcomes(ranks, [](Communicator& comm) { comm.barrier(comm.deadline()); });
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.status, GRADSTEP_ERR_PEER_LOST) << outcome.text;
    EXPECT_LT(outcome.milliseconds, 10000);
  }
}
#endif

INSTANTIATE_TEST_SUITE_P(Failures, Disagreement, testing::ValuesIn(engines_of_one_machine()),
                         [](const auto& test_case) { return test_case.param; });

}  // namespace
}  // namespace gradstep::test
