// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Ranks that look for each other: peers that do not come, disagree, or left their traces in an earlier job.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <tuple>

#include "tests/faults/processes.h"

namespace gradstep::test {
namespace {

constexpr std::int64_t kTimeoutMs = 500;
constexpr std::int64_t kPromisedMs = kTimeoutMs + 1000;

class Creation : public testing::TestWithParam<std::string> {};

void create(const gradstep_comm_options& options, Report& report) {
  const Stopwatch watch;
  const Rank rank(options);
  put(report, rank.status, watch);
}

void expect_timeout(const Report& report, const std::string& part) {
  EXPECT_EQ(report.status, GRADSTEP_ERR_TIMEOUT) << report.text.data();
  EXPECT_NE(std::string(report.text.data()).find(part), std::string::npos) << report.text.data();
  EXPECT_LE(report.milliseconds, kPromisedMs);
}

TEST_P(Creation, AMissingPeerIsATimeoutThatNamesIt) {
  const TemporaryDirectory directory;
  Processes ranks(2, [&](int rank, Report& report) {
    create(rank_options(GetParam(), rank, 3, kTimeoutMs, directory.path()), report);
  });
  expect_timeout(ranks.report(0), "rank 2 of 3 did not come");
  expect_timeout(ranks.report(1), "rank 2 of 3 did not come");
}

TEST_P(Creation, AMissingPeerIsATimeoutWithTheUniqueIdToo) {
  std::array<char, 64> id{};
  size_t length = 0;
  ASSERT_EQ(gradstep_comm_unique_id_ex(GetParam().c_str(), "127.0.0.1", id.data(), id.size(), &length), GRADSTEP_OK);
  Processes ranks(1, [&](int rank, Report& report) {
    auto options = rank_options(GetParam(), rank, 2, kTimeoutMs, "");
    options.store_path = nullptr;
    options.id = id.data();
    options.id_len = length;
    create(options, report);
  });
  expect_timeout(ranks.report(0), "rank 1 of 2 did not come");
}

TEST_P(Creation, AStoppedPeerIsATimeout) {
  const TemporaryDirectory directory;
  Processes ranks(2, [&](int rank, Report& report) {
    if (rank == 1) {
      announce();
      ::raise(SIGSTOP);
    }
    create(rank_options(GetParam(), rank, 2, kTimeoutMs, directory.path()), report);
  });
  ranks.await_announcement(1);
  expect_timeout(ranks.report(0), "rank 1");
}

TEST_P(Creation, ADifferentWorldSizeIsAMismatchOnBothSides) {
  const TemporaryDirectory directory;
  Processes ranks(2, [&](int rank, Report& report) {
    create(rank_options(GetParam(), rank, rank == 0 ? 2 : 3, 5000, directory.path()), report);
  });
  for (int rank = 0; rank < 2; ++rank) {
    const Report report = ranks.report(rank);
    EXPECT_EQ(report.status, GRADSTEP_ERR_MISMATCH) << report.text.data();
    EXPECT_NE(std::string(report.text.data()).find("world_size"), std::string::npos) << report.text.data();
  }
}

TEST_P(Creation, ADifferentReductionOrderIsAMismatchOnBothSides) {
  const TemporaryDirectory directory;
  Processes ranks(2, [&](int rank, Report& report) {
    auto options = rank_options(GetParam(), rank, 2, 5000, directory.path());
    options.reduction_order = rank == 0 ? GRADSTEP_REDUCTION_RANK : GRADSTEP_REDUCTION_ENGINE;
    create(options, report);
  });
  for (int rank = 0; rank < 2; ++rank) {
    const Report report = ranks.report(rank);
    EXPECT_EQ(report.status, GRADSTEP_ERR_MISMATCH) << report.text.data();
    EXPECT_NE(std::string(report.text.data()).find("reduction_order"), std::string::npos) << report.text.data();
  }
}

TEST_P(Creation, ADirectoryMayBeUsedAgainByTheNextJob) {
  const TemporaryDirectory directory;
  for (int job = 0; job < 3; ++job) {
    Processes ranks(3, [&](int number, Report& report) {
      // The last rank is late: the others must not take its traces of the earlier job for the rank itself.
      if (number == 2) ::usleep(200000);
      const Rank rank(rank_options(GetParam(), number, 3, 10000, directory.path()));
      std::vector<float> data(100, 1.0F);
      const Stopwatch watch;
      put(report, rank.status != GRADSTEP_OK ? rank.status : rank.sum(data), watch);
      report.numbers[0] = static_cast<double>(data[0]);
    });
    for (int number = 0; number < 3; ++number) {
      const Report report = ranks.report(number);
      ASSERT_EQ(report.status, GRADSTEP_OK) << report.text.data();
      ASSERT_EQ(report.numbers[0], 3);
    }
  }
}

TEST_P(Creation, ForeignDataInTheStoreIsNamed) {
  const TemporaryDirectory directory;
  std::ofstream(directory.path() + "/gradstep.0.rank.1") << "something else";
  Processes ranks(1, [&](int rank, Report& report) {
    create(rank_options(GetParam(), rank, 2, kTimeoutMs, directory.path()), report);
  });
  const Report report = ranks.report(0);
  EXPECT_EQ(report.status, GRADSTEP_ERR_MISMATCH) << report.text.data();
}

TEST_P(Creation, TheHostsInterruptEndsTheSearch) {
  const TemporaryDirectory directory;
  Processes ranks(1, [&](int number, Report& report) {
    static std::atomic<int> polls{0};
    gradstep_context_options context_options{};
    gradstep_context_options_init(&context_options, sizeof context_options);
    context_options.interrupt = [](void*) -> int32_t { return ++polls > 2 ? 1 : 0; };
    gradstep_context* context = nullptr;
    gradstep_context_create(&context_options, &context);
    const auto options = rank_options(GetParam(), number, 2, 20000, directory.path());
    gradstep_comm* comm = nullptr;
    const Stopwatch watch;
    put(report, gradstep_comm_create(context, &options, &comm), watch);
    gradstep_context_destroy(context);
  });
  const Report report = ranks.report(0);
  EXPECT_EQ(report.status, GRADSTEP_ERR_ABORTED) << report.text.data();
  EXPECT_LT(report.milliseconds, 2000);
}

TEST_P(Creation, AWorldOfOneNeedsNobody) {
  const TemporaryDirectory directory;
  Processes ranks(1, [&](int number, Report& report) {
    const Rank rank(rank_options(GetParam(), number, 1, kTimeoutMs, directory.path()));
    std::vector<float> data(10, 3.0F);
    const Stopwatch watch;
    put(report, rank.status != GRADSTEP_OK ? rank.status : rank.sum(data), watch);
    report.numbers[0] = static_cast<double>(data[0]);
  });
  const Report report = ranks.report(0);
  EXPECT_EQ(report.status, GRADSTEP_OK) << report.text.data();
  EXPECT_EQ(report.numbers[0], 3);
}

/// Lets this process open as many files as the system allows it; how many that are.
rlim_t raise_descriptor_limit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

class LargeWorld : public testing::TestWithParam<std::tuple<std::string, int>> {};

TEST_P(LargeWorld, OfAbsentPeersIsATimeoutToo) {
  const auto& [engine, world_size] = GetParam();
  if (engine == "gloo" && raise_descriptor_limit() < static_cast<rlim_t>(world_size) + 64) {
    GTEST_SKIP() << "needs a descriptor for each peer (ulimit -n)";
  }
  const TemporaryDirectory directory;
  Processes ranks(1, [&](int rank, Report& report) {
    create(rank_options(engine, rank, world_size, kTimeoutMs, directory.path()), report);
  });
  expect_timeout(ranks.report(0), "did not come");
}

std::vector<std::tuple<std::string, int>> large_worlds() {
  std::vector<std::tuple<std::string, int>> worlds;
  for (const std::string& engine : process_engines()) {
    for (const int world_size : {64, 256, 1024}) {
      if (engine != "shm" || world_size <= 256) worlds.emplace_back(engine, world_size);
    }
  }
  return worlds;
}

INSTANTIATE_TEST_SUITE_P(Sizes, LargeWorld, testing::ValuesIn(large_worlds()), [](const auto& test_case) {
  return std::get<0>(test_case.param) + "_" + std::to_string(std::get<1>(test_case.param));
});

#if defined(GRADSTEP_TEST_PLUGIN_DIR)
TEST(GlooCreation, AProcessWithoutDescriptorsForAllPeersIsToldHowMany) {
  const TemporaryDirectory directory;
  Processes ranks(1, [&](int rank, Report& report) {
    const rlimit few{100, 100};
    ::setrlimit(RLIMIT_NOFILE, &few);
    create(rank_options("gloo", rank, 256, kTimeoutMs, directory.path()), report);
  });
  const Report report = ranks.report(0);
  EXPECT_EQ(report.status, GRADSTEP_ERR_IO) << report.text.data();
  EXPECT_NE(std::string(report.text.data()).find("the process may have 100 descriptors"), std::string::npos)
      << report.text.data();
  EXPECT_LE(report.milliseconds, kPromisedMs);
}
#endif

INSTANTIATE_TEST_SUITE_P(Engines, Creation, testing::ValuesIn(process_engines()),
                         [](const auto& test_case) { return test_case.param; });

}  // namespace
}  // namespace gradstep::test
