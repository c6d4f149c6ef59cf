// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What the shm engine is made of: segments that others can open, and processes that can be watched.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <thread>

#include "comm/engines/peer_processes.h"
#include "comm/engines/shared_group.h"
#include "comm/engines/shared_segment.h"
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
  char copy = 0;
  EXPECT_FALSE(watched.read(1, reinterpret_cast<std::uint64_t>(&copy), &copy, 1));
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(watched.ended(1));
  expect_error(GRADSTEP_ERR_PEER_LOST, "has ended", [&] { PeerProcesses(processes, 0); });
}

/// Two ranks, and a third view of what they share.
struct Pair {
  SharedSegment first = SharedSegment::create(2);
  SharedSegment second = SharedSegment::open(first.address(), 2);
  SharedSegment view = SharedSegment::open(first.address(), 2);
  std::array<std::int32_t, 2> processes = {::getpid(), ::getpid()};
  std::array<std::unique_ptr<SharedGroup>, 2> groups;

  Pair() {
    const auto watched = std::make_shared<const PeerProcesses>(processes, 0);
    groups[0] = std::make_unique<SharedGroup>(std::move(first), 0, 2, watched);
    groups[1] = std::make_unique<SharedGroup>(std::move(second), 1, 2, watched);
    each([](SharedGroup& group) { group.take_seat([] {}, Deadline::after_ms(20000)); });
  }
  template <class Body>
  void each(Body&& body) {
    const auto outcomes = run_outcomes(2, [&](std::int32_t rank) { body(*groups[static_cast<std::size_t>(rank)]); });
    for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.status, GRADSTEP_OK) << outcome.text;
  }
  void swap_long_messages() {
    each([](SharedGroup& group) {
      std::vector<std::int32_t> sent(1000003);
      for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<std::int32_t>(i) * (group.rank() + 1);
      std::vector<std::int32_t> received(sent.size());
      const auto bytes = static_cast<std::int64_t>(4 * sent.size());
      group.send_recv(sent.data(), bytes, 1 - group.rank(), received.data(), bytes, 1 - group.rank(),
                      Deadline::after_ms(20000));
      for (std::size_t i = 0; i < received.size(); ++i) {
        ASSERT_EQ(received[i], static_cast<std::int32_t>(i) * (2 - group.rank()));
      }
    });
  }
};

TEST(SharedGroup, LongMessagesAreFetchedWhereTheSystemLets) {
  Pair pair;
  if (pair.view.indices(0, 1).fetches == 0) GTEST_SKIP() << "this system forbids process_vm_readv";
  pair.swap_long_messages();
  EXPECT_EQ(pair.view.indices(0, 1).fetched, 1U);
  EXPECT_LT(pair.view.indices(0, 1).written, 100U);
}

TEST(SharedGroup, LongMessagesGoThroughTheRingsWhereItDoesNot) {
  Pair pair;
  pair.view.indices(0, 1).fetches = 0;
  pair.view.indices(1, 0).fetches = 0;
  pair.swap_long_messages();
  EXPECT_EQ(pair.view.indices(0, 1).fetched, 0U);
  EXPECT_GT(pair.view.indices(0, 1).written, 4000000U);
}

// It is in the midst of a long message when its sender gives up, whose buffer may be anything from then on.
TEST(SharedGroup, WhatASenderHasGivenUpIsNotReceived) {
  Pair pair;
  const std::vector<char> sent(std::size_t{1} << 20);
  std::vector<char> received(sent.size());
  const auto bytes = static_cast<std::int64_t>(sent.size());
  expect_error(GRADSTEP_ERR_TIMEOUT, "rank 1",
               [&] { pair.groups[0]->send(sent.data(), bytes, 1, Deadline::after_ms(20)); });
  if (pair.view.indices(0, 1).fetches == 0) GTEST_SKIP() << "this system forbids process_vm_readv";
  expect_error(GRADSTEP_ERR_PEER_LOST, "rank 0 aborted",
               [&] { pair.groups[1]->recv(received.data(), bytes, 0, Deadline::after_ms(20000)); });
}

void stay_on(std::size_t processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  ::sched_setaffinity(0, sizeof set, &set);
}

// A rank that lets others run while it waits must look at the time in between: with so much for the others to do, doing
// that 50 times takes seconds.
TEST(SharedGroup, ADeadlineIsKeptOnABusyProcessor) {
  constexpr std::int64_t kTimeoutMs = 200;
  Pair pair;
  const auto processor = static_cast<std::size_t>(::sched_getcpu());
  std::atomic<bool> over{false};
  std::vector<std::thread> others;
  for (int i = 0; i < 48; ++i) {
    others.emplace_back([&] {
      stay_on(processor);
      while (!over) {
      }
    });
  }
  const auto outcomes = run_outcomes(1, [&](std::int32_t) {
    stay_on(processor);
    char received = 0;
    pair.groups[0]->recv(&received, 1, 1, Deadline::after_ms(kTimeoutMs));
  });
  over = true;
  for (std::thread& other : others) other.join();
  EXPECT_EQ(outcomes[0].status, GRADSTEP_ERR_TIMEOUT) << outcomes[0].text;
  EXPECT_LE(outcomes[0].milliseconds, kTimeoutMs + 1000);
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
