// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Peers that die, stop, leave or abort while ranks sum. SIGPIPE keeps its deadly default in every rank: the
// library must not let it through.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <thread>
#include <tuple>

#include "tests/faults/processes.h"

namespace gradstep::test {
namespace {

constexpr std::int64_t kTimeoutMs = 1000;
constexpr std::int64_t kPromisedMs = kTimeoutMs + 1000;  // no call outlives its timeout by more than 1 s

/// Sums again and again until that fails, then reports the failing call, the next one, and the destruction.
void sum_until_failure(const gradstep_comm_options& options, std::size_t count, Report& report) {
  auto rank = std::make_unique<Rank>(options);
  if (rank->status != GRADSTEP_OK) return put(report, rank->status, Stopwatch());
  std::vector<float> data(count, 1.0F);
  for (int call = 0;; ++call) {
    const Stopwatch watch;
    const gradstep_status status = rank->sum(data);
    if (status != GRADSTEP_OK) {
      put(report, status, watch);
      break;
    }
    if (call == 3) announce();
  }
  const Stopwatch next;
  report.numbers[0] = rank->sum(data);
  report.numbers[1] = static_cast<double>(next.milliseconds());
  report.numbers[2] = gradstep_last_error() == std::string(report.text.data()) ? 1 : 0;
  const Stopwatch destruction;
  rank.reset();
  report.numbers[3] = static_cast<double>(destruction.milliseconds());
}

void expect_sticky(const Report& report) {
  EXPECT_EQ(report.numbers[0], report.status) << "the next call gave another status";
  EXPECT_LT(report.numbers[1], 100) << "the next call waited";
  EXPECT_EQ(report.numbers[2], 1) << "the next call gave another text";
  EXPECT_LT(report.numbers[3], 1000) << "destroy blocked";
}

class InTheMiddleOfAnAllReduce : public testing::TestWithParam<std::tuple<std::string, std::size_t>> {};

TEST_P(InTheMiddleOfAnAllReduce, AKilledPeerIsLostForEverySurvivor) {
  const TemporaryDirectory directory;
  Processes ranks(3, [&](int rank, Report& report) {
    // The timeout is far away: survivors must learn of the death itself.
    sum_until_failure(rank_options(std::get<0>(GetParam()), rank, 3, 20000, directory.path()), std::get<1>(GetParam()),
                      report);
  });
  ranks.await_announcement(1);
  const Stopwatch watch;
  ranks.signal(1, SIGKILL);
  for (const int survivor : {0, 2}) {
    const Report report = ranks.report(survivor);
    ASSERT_EQ(report.reported, 1) << "rank " << survivor << " died";
    EXPECT_EQ(report.status, GRADSTEP_ERR_PEER_LOST) << report.text.data();
    EXPECT_LT(watch.milliseconds(), 5000);
    expect_sticky(report);
  }
}

TEST_P(InTheMiddleOfAnAllReduce, AStoppedPeerIsATimeout) {
  const TemporaryDirectory directory;
  Processes ranks(2, [&](int rank, Report& report) {
    sum_until_failure(rank_options(std::get<0>(GetParam()), rank, 2, kTimeoutMs, directory.path()),
                      std::get<1>(GetParam()), report);
  });
  ranks.await_announcement(1);
  ranks.signal(1, SIGSTOP);
  const Report report = ranks.report(0);
  ASSERT_EQ(report.reported, 1);
  EXPECT_EQ(report.status, GRADSTEP_ERR_TIMEOUT) << report.text.data();
  EXPECT_LE(report.milliseconds, kPromisedMs);
  expect_sticky(report);
}

TEST_P(InTheMiddleOfAnAllReduce, AStoppedPeerEndsTheCallOfEveryOther) {
  const TemporaryDirectory directory;
  Processes ranks(4, [&](int rank, Report& report) {
    sum_until_failure(rank_options(std::get<0>(GetParam()), rank, 4, kTimeoutMs, directory.path()),
                      std::get<1>(GetParam()), report);
  });
  ranks.await_announcement(2);
  ranks.signal(2, SIGSTOP);
  for (const int other : {0, 1, 3}) {
    const Report report = ranks.report(other);
    ASSERT_EQ(report.reported, 1);
    // The first one to give up leaves; those who wait for it see that.
    EXPECT_TRUE(report.status == GRADSTEP_ERR_TIMEOUT || report.status == GRADSTEP_ERR_PEER_LOST) << report.text.data();
    EXPECT_LE(report.milliseconds, kPromisedMs);
    expect_sticky(report);
  }
}

// A message that fits a socket's buffer, one of the gathering path, and one that takes long.
INSTANTIATE_TEST_SUITE_P(Sizes, InTheMiddleOfAnAllReduce,
                         testing::Combine(testing::ValuesIn(process_engines()), testing::Values(100, 20000, 8000000)),
                         [](const auto& test_case) {
                           return std::get<0>(test_case.param) + "_" + std::to_string(std::get<1>(test_case.param)) +
                                  "_elements";
                         });

class Faults : public testing::TestWithParam<std::string> {};

TEST_P(Faults, AbortFromAnotherThreadEndsAWaitingCall) {
  const TemporaryDirectory directory;
  Processes ranks(2, [&](int number, Report& report) {
    const Rank rank(rank_options(GetParam(), number, 2, 20000, directory.path()));
    if (rank.status != GRADSTEP_OK) return put(report, rank.status, Stopwatch());
    const Stopwatch watch;
    if (number == 1) {  // sees its peer close
      std::vector<float> data(1000);
      std::this_thread::sleep_for(std::chrono::milliseconds(400));
      return put(report, rank.sum(data), watch);
    }
    std::thread aborter([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      gradstep_comm_abort(rank.comm);
    });
    put(report, gradstep_comm_barrier(rank.comm), watch);
    aborter.join();
  });
  const Report aborted = ranks.report(0);
  EXPECT_EQ(aborted.status, GRADSTEP_ERR_ABORTED) << aborted.text.data();
  EXPECT_LT(aborted.milliseconds, 2000);
  const Report peer = ranks.report(1);
  EXPECT_EQ(peer.status, GRADSTEP_ERR_PEER_LOST) << peer.text.data();
  EXPECT_LT(peer.milliseconds, 2000);
}

TEST_P(Faults, SurvivorsMeetAgainInANewGeneration) {
  const TemporaryDirectory directory;
  Processes ranks(3, [&](int number, Report& report) {
    {
      const Rank rank(rank_options(GetParam(), number, 3, 20000, directory.path()));
      if (rank.status != GRADSTEP_OK) return put(report, rank.status, Stopwatch());
      std::vector<float> data(1000, 1.0F);
      for (int call = 0; rank.sum(data) == GRADSTEP_OK; ++call) {
        if (call == 3) announce();
      }
    }
    auto options = rank_options(GetParam(), number == 2 ? 1 : 0, 2, 20000, directory.path());
    options.generation = 1;
    const Rank rank(options);
    const Stopwatch watch;
    std::vector<float> data(1000, 2.0F);
    put(report, rank.status != GRADSTEP_OK ? rank.status : rank.sum(data), watch);
    report.numbers[0] = static_cast<double>(data[999]);
  });
  ranks.await_announcement(1);
  ranks.signal(1, SIGKILL);
  for (const int survivor : {0, 2}) {
    const Report report = ranks.report(survivor);
    EXPECT_EQ(report.reported, 1);
    EXPECT_EQ(report.status, GRADSTEP_OK) << report.text.data();
    EXPECT_EQ(report.numbers[0], 4);
  }
}

TEST_P(Faults, ARankThatLeavesAfterTheLastCallDisturbsNobody) {
  const TemporaryDirectory directory;
  Processes ranks(4, [&](int number, Report& report) {
    for (int round = 0; round < 8; ++round) {
      auto options = rank_options(GetParam(), number, 4, 10000, directory.path());
      options.generation = round;
      const Rank rank(options);
      std::vector<float> data(30000, 1.0F);
      const Stopwatch watch;
      put(report, rank.status != GRADSTEP_OK ? rank.status : rank.sum(data), watch);
      if (report.status != GRADSTEP_OK) return;
      report.numbers[0] += static_cast<double>(data[29999]);
    }
  });
  for (int number = 0; number < 4; ++number) {
    const Report report = ranks.report(number);
    EXPECT_EQ(report.status, GRADSTEP_OK) << report.text.data();
    EXPECT_EQ(report.numbers[0], 8 * 4);
  }
}

TEST_P(Faults, AForkedChildIsToldAndTheParentGoesOn) {
  const TemporaryDirectory directory;
  Processes ranks(2, [&](int number, Report& report) {
    const Rank rank(rank_options(GetParam(), number, 2, 10000, directory.path()));
    std::vector<float> data(20000, 1.0F);
    const Stopwatch watch;
    if (rank.status != GRADSTEP_OK || rank.sum(data) != GRADSTEP_OK) return put(report, GRADSTEP_ERR_INTERNAL, watch);
    report_forked_child(
        report, [&] { return gradstep_comm_barrier(rank.comm); }, [&] { gradstep_comm_destroy(rank.comm); });
    put(report, rank.sum(data), watch);
    report.numbers[3] = static_cast<double>(data[0]);
  });
  for (int number = 0; number < 2; ++number) {
    const Report report = ranks.report(number);
    EXPECT_EQ(report.status, GRADSTEP_OK) << report.text.data();
    expect_child_was_told(report);
    EXPECT_EQ(report.numbers[3], 4);
  }
}

TEST_P(Faults, CommunicatorsLeaveNothingBehind) {
  const int rounds = GetParam() == "shm" ? 100 : 12;
  const TemporaryDirectory directory;
  Processes ranks(2, [&](int number, Report& report) {
    for (int round = 0; round < rounds; ++round) {
      auto options = rank_options(GetParam(), number, 2, 20000, directory.path());
      options.generation = round;
      {
        const Rank rank(options);
        std::vector<float> data(1000);
        const Stopwatch watch;
        put(report, rank.status != GRADSTEP_OK ? rank.status : rank.sum(data), watch);
        gradstep_comm* copy = nullptr;
        if (report.status == GRADSTEP_OK) put(report, gradstep_comm_dup(rank.comm, &copy), watch);
        if (report.status != GRADSTEP_OK) return;
        if (round % 3 == 2) gradstep_comm_abort(rank.comm);
        gradstep_comm_destroy(copy);
      }
      report_holdings(report, round);
    }
  });
  for (int number = 0; number < 2; ++number) expect_nothing_left(ranks.report(number));
}

INSTANTIATE_TEST_SUITE_P(Engines, Faults, testing::ValuesIn(process_engines()),
                         [](const auto& test_case) { return test_case.param; });

TEST(ShmFaults, AKilledPeerLeavesNothingBehind) {
  const TemporaryDirectory directory;
  Processes ranks(2, [&](int number, Report& report) {
    const Holdings before;
    sum_until_failure(rank_options("shm", number, 2, 20000, directory.path()), 100000, report);
    const Holdings after;
    report.numbers[4] = after.descriptors - before.descriptors;
    report.numbers[5] = after.threads - before.threads;
    report.numbers[6] = after.shared_mappings;
  });
  ranks.await_announcement(0);
  ranks.signal(0, SIGKILL);
  const Report report = ranks.report(1);
  ASSERT_EQ(report.status, GRADSTEP_ERR_PEER_LOST) << report.text.data();
  EXPECT_EQ(report.numbers[4], 0) << "descriptors";
  EXPECT_EQ(report.numbers[5], 0) << "threads";
  EXPECT_EQ(report.numbers[6], 0) << "mappings";
}

// Whatever a process shares with its children outlives it: descriptors, locks, mappings.
TEST(ShmFaults, AKilledPeerIsLostThoughAChildOfItLives) {
  const TemporaryDirectory directory;
  Processes ranks(2, [&](int number, Report& report) {
    const Rank rank(rank_options("shm", number, 2, 20000, directory.path()));
    if (rank.status != GRADSTEP_OK) return put(report, rank.status, Stopwatch());
    if (number == 1) {
      if (::fork() == 0) {
        ::alarm(6);
        for (;;) ::pause();
      }
      announce();
    }
    std::vector<float> data(1000);
    while (rank.sum(data) == GRADSTEP_OK) {
    }
    gradstep_comm_status(rank.comm, &report.status, report.text.data(), report.text.size(), nullptr);
  });
  ranks.await_announcement(1);
  const Stopwatch watch;
  ranks.signal(1, SIGKILL);
  const Report report = ranks.report(0);
  EXPECT_EQ(report.status, GRADSTEP_ERR_PEER_LOST) << report.text.data();
  EXPECT_LT(watch.milliseconds(), 4000) << "it was noticed when the child ended";
}

}  // namespace
}  // namespace gradstep::test
