// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "core/handle.h"

#include <atomic>
#include <thread>
#include <vector>

#include "core/busy_flag.h"
#include "core/fp_environment.h"
#include "unit/child_process.h"
#include "unit/support.h"

namespace gradstep::test {
namespace {

struct SampleHandle {
  static constexpr std::uint64_t kMagic = 42;
  static constexpr const char* kName = "sample";
  HandleHeader header{kMagic};
  BusyFlag flag;
  int* freed = nullptr;

  SampleHandle() = default;
  explicit SampleHandle(int* counter) : freed(counter) {}
  SampleHandle(const SampleHandle&) = delete;
  SampleHandle& operator=(const SampleHandle&) = delete;
  ~SampleHandle() {
    if (freed != nullptr) ++*freed;
  }
  BusyFlag& busy() { return flag; }
};

struct OtherHandle {
  static constexpr std::uint64_t kMagic = 7;
  [[maybe_unused]] static constexpr const char* kName = "other";
  HandleHeader header{kMagic};
};

TEST(Handle, NullAndForeignHandlesAreNamed) {
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "sample: is NULL",
               [] { check_handle(static_cast<const SampleHandle*>(nullptr)); });
  OtherHandle handle;
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "not a gradstep_sample",
               [&] { check_handle(reinterpret_cast<const SampleHandle*>(&handle)); });
}

struct Work {
  BusyFlag& busy() { return flag; }
  BusyFlag flag;
};
struct WorkHandle : Handle<Work, "work"> {};
struct SameWorkHandle : Handle<Work, "same work"> {};

TEST(Handle, AKindOfHandleIsItsName) {
  WorkHandle* handle = nullptr;
  hand_out(&handle, std::make_shared<Work>());
  EXPECT_NO_THROW(check_handle(handle));
  EXPECT_STREQ(WorkHandle::kName, "work");
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "not a gradstep_same work",
               [&] { check_handle(reinterpret_cast<SameWorkHandle*>(handle)); });
  {
    const InUse use(handle);
    EXPECT_FALSE(handle->impl->busy().try_take());
  }
  destroy(handle);
}

TEST(Handle, ACallOutOfACallbackIsToldFromAnotherThreads) {
  SampleHandle handle;
  const InUse first(&handle);
  expect_error(GRADSTEP_ERR_INVALID_STATE, "a call of this thread, which has called back, is using it",
               [&] { InUse<SampleHandle> second(&handle); });
}

TEST(Handle, ASecondThreadGetsInvalidState) {
  SampleHandle handle;
  const InUse first(&handle);
  std::thread([&] {
    expect_error(GRADSTEP_ERR_INVALID_STATE, "another thread", [&] { InUse<SampleHandle> second(&handle); });
  }).join();
}

TEST(Handle, WithoutACallInsideDestroyFreesAtOnce) {
  int freed = 0;
  destroy(new SampleHandle(&freed));
  EXPECT_EQ(freed, 1);
  destroy(static_cast<SampleHandle*>(nullptr));
}

TEST(Handle, WhatIsDestroyedInsideACallIsFreedByTheLastToLeave) {
  int freed = 0;
  auto* handle = new SampleHandle(&freed);
  {
    const Kept outer(handle);
    {
      const InUse inner(handle);
      destroy(handle);
      destroy(handle);
      expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "destroyed", [&] { const Kept late(handle); });
      expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "destroyed", [&] { check_handle(handle); });
    }
    EXPECT_EQ(freed, 0);
  }
  EXPECT_EQ(freed, 1);
}

TEST(Handle, ACallThatIsRefusedLeavesAgain) {
  int freed = 0;
  auto* handle = new SampleHandle(&freed);
  {
    const InUse use(handle);
    expect_error(GRADSTEP_ERR_INVALID_STATE, "a call of this thread", [&] { const InUse second(handle); });
  }
  destroy(handle);
  EXPECT_EQ(freed, 1);
}

TEST(Handle, ThreadsThatUseAndDestroyOneHandleFreeItOnce) {
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> inside{0};
    int freed = 0;
    auto* handle = new SampleHandle(&freed);
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&] {
        const Kept kept(handle);
        ++inside;
        while (inside < 3) std::this_thread::yield();
      });
    }
    while (inside < 3) std::this_thread::yield();
    destroy(handle);
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(freed, 1);
  }
}

TEST(Handle, ASharedObjectIsExclusiveAndFreeAfterwards) {
  BusyFlag flag;
  {
    const Exclusive first(flag, "object");
    expect_error(GRADSTEP_ERR_INVALID_STATE, "object", [&] { Exclusive second(flag, "object"); });
  }
  EXPECT_NO_THROW(Exclusive(flag, "object"));
}

#if !defined(_WIN32)  // which has no fork()
TEST(Handle, AForkedChildIsTold) {
  watch_forks();
  SampleHandle handle;
  EXPECT_TRUE(true_in_child([&] {
    try {
      check_handle(&handle);
    } catch (const Error& error) {
      return error.status() == GRADSTEP_ERR_INVALID_STATE;
    }
    return false;
  }));
  EXPECT_NO_THROW(check_handle(&handle));
}
#endif

#if defined(__SSE2__)
TEST(FpEnvironment, SetsDefaultsAndRestoresTheHosts) {
  const unsigned before = _mm_getcsr();
  const unsigned host = 0x1f80U | 0x8040U | 0x6000U;  // flush to zero, denormals are zero, round towards zero
  _mm_setcsr(host);
  {
    const FpEnvironment environment;
    EXPECT_EQ(_mm_getcsr() & 0xffc0U, 0x1f80U);
  }
  EXPECT_EQ(_mm_getcsr() & 0xffc0U, host & 0xffc0U);
  _mm_setcsr(before);
}
#endif

}  // namespace
}  // namespace gradstep::test
