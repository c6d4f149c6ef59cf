// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "core/background_lane.h"

#include <atomic>
#include <future>
#include <stdexcept>
#include <thread>

#include "core/fork_generation.h"
#include "unit/child_process.h"
#include "unit/support.h"

namespace gradstep::test {
namespace {

TEST(BackgroundLane, EveryTaskIsDoneOnceByTheLaneOrTheOwner) {
  for (const int threads : {0, 1, 3}) {
    BackgroundLane lane(threads);
    for (const std::int64_t n : {0, 1, 500}) {
      std::vector<std::atomic<int>> seen(static_cast<std::size_t>(n));
      const auto job = std::make_shared<BackgroundJob>(n, [&](std::int64_t i) { ++seen[static_cast<std::size_t>(i)]; });
      lane.submit(job);
      while (job->run_one()) {
      }
      job->wait();
      for (const auto& count : seen) EXPECT_EQ(count, 1);
    }
  }
}

TEST(BackgroundLane, WorksWhileNobodyWaits) {
  BackgroundLane lane(1);
  std::promise<void> done;
  lane.submit(std::make_shared<BackgroundJob>(1, [&](std::int64_t) { done.set_value(); }));
  done.get_future().wait();
}

TEST(BackgroundLane, ATaskThatThrowsIsOver) {
  BackgroundLane lane(2);
  std::atomic<int> calls{0};
  const auto job = std::make_shared<BackgroundJob>(50, [&](std::int64_t i) {
    ++calls;
    if (i % 2 == 0) throw std::runtime_error("body");
  });
  lane.submit(job);
  while (job->run_one()) {
  }
  job->wait();
  EXPECT_EQ(calls, 50);
}

TEST(BackgroundLane, ACancelledJobIsNotTouchedAgain) {
  BackgroundLane lane(1);
  std::atomic<int> calls{0};
  std::promise<void> began;
  std::promise<void> go;
  const auto first = std::make_shared<BackgroundJob>(2, [&](std::int64_t i) {
    ++calls;
    if (i > 0) return;
    began.set_value();
    go.get_future().wait();
  });
  lane.submit(first);
  began.get_future().wait();
  const auto second = std::make_shared<BackgroundJob>(1, [&](std::int64_t) { ++calls; });
  lane.submit(second);
  second->cancel();
  std::thread cancelling([&] { first->cancel(); });
  while (first->run_one()) {
  }
  go.set_value();
  cancelling.join();
  EXPECT_FALSE(first->run_one());
  const int before = calls;
  std::promise<void> drained;
  lane.submit(std::make_shared<BackgroundJob>(1, [&](std::int64_t) { drained.set_value(); }));
  drained.get_future().wait();
  EXPECT_EQ(calls, before);
}

TEST(BackgroundLane, DestructionDropsWhatHasNotBegun) {
  std::atomic<int> calls{0};
  {
    BackgroundLane lane(1);
    for (int k = 0; k < 100; ++k) {
      lane.submit(std::make_shared<BackgroundJob>(1, [&](std::int64_t) {
        ++calls;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }));
    }
  }
  const int at_the_end = calls;
  EXPECT_LE(at_the_end, 100);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(calls, at_the_end);
}

#if !defined(_WIN32)  // which has no fork()
TEST(BackgroundLane, AForkedChildCanDestroyIt) {
  watch_forks();
  auto lane = std::make_unique<BackgroundLane>(1);
  std::promise<void> began;
  std::promise<void> go;
  auto job = std::make_shared<BackgroundJob>(1, [&](std::int64_t) {
    began.set_value();
    go.get_future().wait();
  });
  lane->submit(job);
  began.get_future().wait();
  EXPECT_TRUE(true_in_child([&] {
    job->cancel();
    lane.reset();
    return true;
  }));
  go.set_value();
  job->cancel();
}
#endif

}  // namespace
}  // namespace gradstep::test
