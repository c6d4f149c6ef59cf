// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What the shm engine is made of: segments that others can open, and processes that can be watched.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <thread>

#include "comm/peer_processes.h"
#include "comm/shared_group.h"
#include "comm/shared_segment.h"
#include "tests/unit/comm/worlds.h"

namespace gradstep::test {
namespace {

TEST(SharedSegment, TwoMappingsAreOneMemory) {
  SharedSegment made = SharedSegment::create(3);
  const SharedSegment opened = SharedSegment::open(made.address(), 3);
  made.close();
  made.indices(2, 1).written = 77;
  made.ring(2, 1)[made.ring_bytes() - 1] = std::byte{5};
  made.seat(2).bell = 9;
  EXPECT_EQ(opened.indices(2, 1).written, 77U);
  EXPECT_EQ(opened.indices(1, 2).written, 0U);
  EXPECT_EQ(opened.ring(2, 1)[opened.ring_bytes() - 1], std::byte{5});
  EXPECT_EQ(opened.ring(2, 2)[0], std::byte{0}) << "rings overlap";
  EXPECT_EQ(opened.seat(2).bell, 9U);
}

TEST(SharedSegment, WhatIsNotThereAnyMoreIsNotOpened) {
  SharedSegment made = SharedSegment::create(2);
  const SegmentAddress address = made.address();
  SegmentAddress other_key = address;
  other_key.key[0] ^= 1;
  expect_error(GRADSTEP_ERR_PEER_LOST, "is not the shared memory", [&] { SharedSegment::open(other_key, 2); });
  expect_error(GRADSTEP_ERR_PEER_LOST, "is not the shared memory", [&] { SharedSegment::open(address, 3); });
  made.close();
  expect_error(GRADSTEP_ERR_PEER_LOST, "cannot be opened", [&] { SharedSegment::open(address, 2); });
}

TEST(SharedSegment, ManyRanksShareAMebibyteEach) {
  const SharedSegment few = SharedSegment::create(3);
  EXPECT_LE(2 * few.ring_bytes(), 1U << 20);
  const SharedSegment many = SharedSegment::create(256);
  EXPECT_EQ(many.ring_bytes(), 1U << 14);
  many.ring(255, 255)[many.ring_bytes() - 1] = std::byte{1};  // the last byte is mapped
}

TEST(PeerProcesses, SeeTheEndOfAProcessBeforeItsParentHasWaitedForIt) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    for (;;) ::pause();
  }
  const std::array<std::int32_t, 2> processes = {::getpid(), child};
  const PeerProcesses watched(processes, 0);
  EXPECT_FALSE(watched.ended(0));
  EXPECT_FALSE(watched.ended(1));
  ::kill(child, SIGKILL);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(watched.ended(1));
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(watched.ended(1));
  expect_error(GRADSTEP_ERR_PEER_LOST, "has ended", [&] { PeerProcesses(processes, 0); });
}

TEST(SharedGroup, ASenderNeedsNoReceiverWhileTheRingHasRoom) {
  std::atomic<bool> sent{false};
  run(make_world("shm", 2), [&](Communicator& comm) {
    while (comm.rank() == 1 && !sent) std::this_thread::yield();
    for (std::int32_t message = 0; message < 100; ++message) {
      std::int32_t data = comm.rank() == 0 ? message : -1;
      if (comm.rank() == 0) comm.send(&data, sizeof data, 1, comm.deadline());
      if (comm.rank() == 1) comm.recv(&data, sizeof data, 0, comm.deadline());
      ASSERT_EQ(data, message);
    }
    sent = true;
  });
}

TEST(SharedGroup, NothingIsSentToARankThatHasLeft) {
  World ranks = make_world("shm", 2);
  ranks[1].reset();
  expect_error(GRADSTEP_ERR_PEER_LOST, "rank 1 has left", [&] { ranks[0]->send("x", 1, 1, ranks[0]->deadline()); });
}

}  // namespace
}  // namespace gradstep::test
