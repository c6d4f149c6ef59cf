// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What the detached device promises the suites that run on it, and what the library promises every device.
#include <gtest/gtest.h>

#include <memory>

#include "detached/detached_backend.h"
#include "detached/device_promises.h"
#include "gradstep/gradstep.h"

namespace gradstep::test {
namespace {

/// A detached device.
class Detached final : public TestDevice {
 public:
  explicit Detached(std::uint64_t seed) : TestDevice(kDetached) {
    auto backend = std::make_unique<DetachedBackend>(object_of(context())->cpu(), seed);
    backend_ = backend.get();
    object_of(context())->add_backend(kDetached, std::move(backend));
  }

  static void* stream(int k) { return reinterpret_cast<void*>(static_cast<std::intptr_t>(k)); }

  DetachedBackend& backend() const { return *backend_; }
  std::int64_t waits() const override { return backend_->waits(); }
  std::int64_t allocations() const override { return backend_->allocations(); }

 private:
  DetachedBackend* backend_ = nullptr;
};

TEST(DetachedDeathTest, AHostThatReadsOrWritesItsMemoryIsEnded) {
  const Detached device(1);
  float* numbers = device.allocate(4);
  const float value = 3;
  write(device.queue(), numbers, value);
  EXPECT_EQ(read(device.queue(), static_cast<const float*>(numbers)), 3);
  volatile float* seen = numbers;
  EXPECT_DEATH(static_cast<void>(*seen), "");
  EXPECT_DEATH(*seen = 1, "");
}

TEST(Detached, WorkIsDoneWhenSomebodyWaitsAndNotBefore) {
  const Detached device(1);
  float* numbers = device.allocate(4);
  device.queue().zero(numbers, 4 * sizeof(float));
  const Event event = device.queue().record();
  EXPECT_EQ(device.backend().done(), 0);
  EXPECT_FALSE(event.is_reached());
  device.queue().finish();
  EXPECT_TRUE(event.is_reached());
}

/// What a number is after two streams have written it.
float written_by_two(std::uint64_t seed, bool with_event) {
  const Detached device(seed);
  Queue& first = device.backend().queue(reinterpret_cast<void*>(1));
  Queue& second = device.backend().queue(reinterpret_cast<void*>(2));
  float* number = device.allocate(1);
  write(first, number, 1.0F);
  if (with_event) second.wait(first.record());
  write(second, number, 2.0F);
  second.finish();
  first.finish();
  return read(device.queue(), static_cast<const float*>(number));
}

TEST(Detached, StreamsAreInAnyOrderButForEvents) {
  bool any_first = false;
  bool any_second = false;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    (written_by_two(seed, /*with_event=*/false) == 1 ? any_first : any_second) = true;
    EXPECT_EQ(written_by_two(seed, /*with_event=*/true), 2);
  }
  EXPECT_TRUE(any_first);
  EXPECT_TRUE(any_second);
}

INSTANTIATE_TYPED_TEST_SUITE_P(Detached, DevicePromises, Detached);

}  // namespace
}  // namespace gradstep::test
