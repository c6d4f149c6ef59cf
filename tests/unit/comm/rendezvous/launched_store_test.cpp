// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/rendezvous/launched_store.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "comm/rendezvous/socket.h"
#include "tests/unit/comm/rendezvous/variables.h"
#include "tests/unit/comm/worlds.h"

namespace gradstep::test {
namespace {

OwnEnvironment job_of(std::int32_t rank, std::int32_t world_size, Variables more) {
  more["RANK"] = std::to_string(rank);
  more["WORLD_SIZE"] = std::to_string(world_size);
  return {std::move(more)};
}

std::unique_ptr<Store> open(const OwnEnvironment& job, std::int64_t call, std::int64_t timeout_ms = 20000) {
  return open_launched_store(read_launch(job), job, call, Deadline::after_ms(timeout_ms), [] {});
}

/// Two in a row that are not in use: MASTER_PORT and the one after.
std::uint16_t free_port() {
  for (;;) {
    NetworkAddress first = loopback_address();
    const FileDescriptor held = listen_on(first);
    NetworkAddress second = loopback_address();
    second.set_port(static_cast<std::uint16_t>(first.port() + 1));
    try {
      listen_at(second);
      return first.port();
    } catch (const Error&) {
    }
  }
}

/// Each rank's store holds what the others have set; `call` of a job whose ranks are threads.
void check_meeting(const Variables& variables, std::int32_t world_size, std::int64_t call) {
  std::vector<std::thread> ranks;
  std::vector<std::string> seen(static_cast<std::size_t>(world_size));
  for (std::int32_t rank = 0; rank < world_size; ++rank) {
    ranks.emplace_back([&, rank] {
      const auto store = open(job_of(rank, world_size, variables), call);
      const std::string own = std::to_string(rank);
      store->set("rank/" + own, own.data(), own.size());
      for (std::int32_t peer = 0; peer < world_size; ++peer) {
        char value = '?';
        std::size_t length = 1;
        if (store->get("rank/" + std::to_string(peer), &value, length, Deadline::after_ms(20000))) {
          seen[static_cast<std::size_t>(rank)] += value;
        }
      }
    });
  }
  for (std::thread& rank : ranks) rank.join();
  for (const std::string& values : seen) EXPECT_EQ(values, "012");
}

TEST(LaunchedStore, RanksOfOneMachineMeetAtALocalSocket) {
  for (std::int64_t call = 0; call < 3; ++call) check_meeting({{"LOCAL_WORLD_SIZE", "3"}}, 3, call);
}

TEST(LaunchedStore, RanksOfSeveralMachinesMeetAtRankZeroCallAfterCall) {
  const Variables variables = {{"MASTER_ADDR", "localhost"}, {"MASTER_PORT", std::to_string(free_port())}};
  for (std::int64_t call = 0; call < 3; ++call) check_meeting(variables, 3, call);
}

TEST(LaunchedStore, AnOwnPortStandsInForTheMasters) {
  check_meeting({{"MASTER_ADDR", "127.0.0.1"}, {"GRADSTEP_PORT", std::to_string(free_port())}}, 3, 0);
}

TEST(LaunchedStore, ASharedFolderNeedsNoAddress) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "launched_store";
  std::filesystem::remove_all(folder);
  check_meeting({{"GRADSTEP_STORE", folder.string()}}, 3, 0);
  const std::string place = std::filesystem::directory_iterator(folder)->path().filename();
  EXPECT_TRUE(place.starts_with("connect.") && place.ends_with(".0")) << place;
}

TEST(LaunchedStore, ARankOfAnotherCallIsNotLetIn) {
  const Variables variables = {{"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", std::to_string(free_port())}};
  const auto served = open(job_of(0, 2, variables), 5);
  expect_error(GRADSTEP_ERR_TIMEOUT,
               "rank 0 did not answer rank 1 of 2 at 127.0.0.1:", [&] { open(job_of(1, 2, variables), 4, 300); });
  EXPECT_NE(open(job_of(1, 2, variables), 5), nullptr);
}

TEST(LaunchedStore, WhoCameIsSaid) {
  const Variables variables = {{"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", std::to_string(free_port())}};
  const auto served = open(job_of(0, 3, variables), 0);
  EXPECT_NE(served->about().find(" came rank 0)"), std::string::npos) << served->about();
  const auto other = open(job_of(2, 3, variables), 0);
  EXPECT_NE(served->about().find(" came ranks 0, 2)"), std::string::npos) << served->about();
  EXPECT_NE(other->about().find("they meet at 127.0.0.1:"), std::string::npos) << other->about();
}

TEST(LaunchedStore, APortThatIsTakenIsNamed) {
  NetworkAddress taken = loopback_address();
  const FileDescriptor holder = listen_on(taken);
  const Variables variables = {{"MASTER_ADDR", "127.0.0.1"}, {"GRADSTEP_PORT", std::to_string(taken.port())}};
  expect_error(GRADSTEP_ERR_IO, "rank 0 cannot listen at 127.0.0.1:" + std::to_string(taken.port()),
               [&] { open(job_of(0, 2, variables), 0, 300); });
}

TEST(LaunchedStore, RankZeroAtALoopbackAddressIsReachedThere) {
  const Variables variables = {{"MASTER_ADDR", "localhost"}, {"MASTER_PORT", std::to_string(free_port())}};
  const auto served = open(job_of(0, 2, variables), 0);
  ASSERT_TRUE(served->reached_from());
  EXPECT_TRUE(served->reached_from()->is_loopback());
}

/// Debian's /etc/hosts gives a machine's own name such an address, by which other machines do not know it.
TEST(LaunchedStore, RankZeroDoesNotKnowItsAddressBeforeOthersCall) {
  const Variables variables = {{"MASTER_ADDR", "127.0.1.1"}, {"MASTER_PORT", std::to_string(free_port())}};
  const auto served = open(job_of(0, 2, variables), 0);
  EXPECT_FALSE(served->reached_from());
}

/// Something else listens at rank 0's place, and says nothing.
TEST(LaunchedStore, AWaitForASilentPeerIsPolled) {
  NetworkAddress taken = loopback_address();
  const FileDescriptor holder = listen_on(taken);
  const Variables variables = {{"MASTER_ADDR", "127.0.0.1"}, {"GRADSTEP_PORT", std::to_string(taken.port())}};
  const OwnEnvironment job = job_of(1, 2, variables);
  int polls = 0;
  const auto poll = [&] {
    if (++polls == 3) fail(GRADSTEP_ERR_ABORTED, "the host has had enough");
  };
  expect_error(GRADSTEP_ERR_ABORTED, "the host has had enough",
               [&] { open_launched_store(read_launch(job), job, 0, Deadline::after_ms(600'000), poll); });
}

TEST(LaunchedStore, JobsOfOtherNamesDoNotMeet) {
  Variables variables = {{"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", std::to_string(free_port())}};
  variables["GRADSTEP_JOB"] = "one";
  const auto served = open(job_of(0, 2, variables), 0);
  EXPECT_NE(open(job_of(1, 2, variables), 0), nullptr);
  variables["GRADSTEP_JOB"] = "two";
  expect_error(GRADSTEP_ERR_TIMEOUT, "rank 0 did not answer rank 1 of 2",
               [&] { open(job_of(1, 2, variables), 0, 300); });
}

}  // namespace
}  // namespace gradstep::test
