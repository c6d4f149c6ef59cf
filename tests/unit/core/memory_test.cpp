// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"

#include <cstring>

#include "core/platform/system.h"
#include "unit/support.h"

namespace gradstep::test {
namespace {

struct Host {
  int allocated = 0;
  int released = 0;
  bool refuses = false;

  gradstep_allocator table() {
    gradstep_allocator t{};
    t.struct_size = sizeof t;
    t.user = this;
    t.allocate = [](void* user, std::size_t bytes, std::size_t alignment, std::int32_t, std::int32_t, void*) -> void* {
      auto& host = *static_cast<Host*>(user);
      if (host.refuses) return nullptr;
      ++host.allocated;
      return platform::allocate(alignment, (bytes + alignment - 1) / alignment * alignment);
    };
    t.deallocate = [](void* user, void* data, std::size_t, std::size_t, std::int32_t, std::int32_t, void*) {
      --static_cast<Host*>(user)->allocated;
      platform::deallocate(data);
    };
    t.release = [](void* user) { ++static_cast<Host*>(user)->released; };
    return t;
  }
};

TEST(Memory, BuffersGoBackToTheHostsAllocatorWhichIsReleasedOnce) {
  Host host;
  {
    const auto table = host.table();
    auto allocator = std::make_shared<Allocator>(&table);
    Buffer a(allocator, 100);
    Buffer b = std::move(a);
    EXPECT_EQ(host.allocated, 1);
    EXPECT_EQ(b.bytes(), 100U);
    EXPECT_EQ(a.data(), nullptr);  // NOLINT(bugprone-use-after-move): the promise under test
    allocator.reset();
    EXPECT_EQ(host.released, 0) << "the buffer still needs it";
  }
  EXPECT_EQ(host.allocated, 0);
  EXPECT_EQ(host.released, 1);
}

TEST(Memory, AnEmptyHostIsOutOfMemory) {
  Host host;
  host.refuses = true;
  const auto table = host.table();
  auto allocator = std::make_shared<Allocator>(&table);
  expect_error(GRADSTEP_ERR_OUT_OF_MEMORY, "64 bytes", [&] { Buffer(allocator, 64); });
}

TEST(Memory, HalfAnAllocatorIsRefusedAndReleased) {
  Host host;
  auto table = host.table();
  table.deallocate = nullptr;
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "allocate and deallocate", [&] { Allocator allocator(&table); });
  EXPECT_EQ(host.released, 1);
}

TEST(Memory, OwnBuffersAreAligned) {
  auto allocator = std::make_shared<Allocator>(nullptr);
  for (const std::size_t bytes : {1UL, 63UL, 1UL << 20, (8UL << 20) + 4}) {
    const Buffer buffer(allocator, bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % kAlignment, 0U);
    buffer.as<char>()[bytes - 1] = 1;
  }
  EXPECT_EQ(Buffer(allocator, 0).data(), nullptr);
}

}  // namespace
}  // namespace gradstep::test
