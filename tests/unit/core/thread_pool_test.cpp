// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "core/thread_pool.h"

#include <atomic>
#include <stdexcept>
#include <thread>

#include "unit/support.h"

namespace gradstep::test {
namespace {

TEST(ThreadPool, RunsEveryIndexExactlyOnce) {
  for (const int threads : {1, 2, 7}) {
    ThreadPool pool(threads);
    for (const std::int64_t n : {0, 1, 2, 100, 10007}) {
      std::vector<std::atomic<int>> seen(static_cast<std::size_t>(n));
      pool.run(n, [&](std::int64_t i) { ++seen[static_cast<std::size_t>(i)]; });
      for (const auto& count : seen) EXPECT_EQ(count, 1);
    }
  }
}

TEST(ThreadPool, TheFirstExceptionComesBackAfterAllHaveEnded) {
  ThreadPool pool(4);
  std::atomic<int> running{0};
  EXPECT_THROW(pool.run(1000,
                        [&](std::int64_t i) {
                          ++running;
                          if (i % 100 == 3) {
                            --running;
                            throw std::runtime_error("body");
                          }
                          --running;
                        }),
               std::runtime_error);
  EXPECT_EQ(running, 0);
  int sum = 0;
  pool.run(1, [&](std::int64_t) { ++sum; });
  EXPECT_EQ(sum, 1) << "the pool must go on working";
}

TEST(ThreadPool, TwoThreadsMayUseItAtOnce) {
  ThreadPool pool(3);
  std::atomic<std::int64_t> total{0};
  const auto user = [&] {
    for (int round = 0; round < 50; ++round) pool.run(64, [&](std::int64_t i) { total += i; });
  };
  std::thread other(user);
  user();
  other.join();
  EXPECT_EQ(total, 2 * 50 * (63 * 64 / 2));
}

}  // namespace
}  // namespace gradstep::test
