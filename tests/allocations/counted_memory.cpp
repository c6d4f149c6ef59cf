// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "allocations/counted_memory.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<bool> counting{false};
std::atomic<long> allocations{0};
std::atomic<long> allocated_bytes{0};
std::atomic<long> live{0};

void* take(std::size_t bytes, std::size_t alignment) {
  if (counting.load(std::memory_order_relaxed)) {
    allocations.fetch_add(1, std::memory_order_relaxed);
    allocated_bytes.fetch_add(static_cast<long>(bytes), std::memory_order_relaxed);
  }
  const std::size_t whole = (bytes + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, whole > 0 ? whole : alignment);
  if (memory == nullptr) throw std::bad_alloc();
  live.fetch_add(static_cast<long>(malloc_usable_size(memory)), std::memory_order_relaxed);
  return memory;
}

void give_back(void* memory) noexcept {
  live.fetch_sub(static_cast<long>(malloc_usable_size(memory)), std::memory_order_relaxed);
  std::free(memory);
}

}  // namespace

// All forms of new and delete that the standard library does not build from others. Not inlined: g++ would see free()
// meet the memory of a new, and warn.
void* operator new(std::size_t bytes) { return take(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return take(bytes, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { give_back(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { give_back(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { give_back(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { give_back(memory); }

namespace gradstep::test {

Allocated allocated_by(const std::function<void()>& call) {
  allocations = 0;
  allocated_bytes = 0;
  counting = true;
  call();
  counting = false;
  return {allocations, allocated_bytes};
}

long live_bytes() { return live; }
void count_live(long bytes) { live.fetch_add(bytes, std::memory_order_relaxed); }

gradstep_allocator counted_allocator() {
  gradstep_allocator allocator{};
  allocator.struct_size = sizeof allocator;
  allocator.allocate = [](void*, std::size_t bytes, std::size_t alignment, std::int32_t, std::int32_t, void*) -> void* {
    return take(bytes, alignment);
  };
  allocator.deallocate = [](void*, void* data, std::size_t, std::size_t, std::int32_t, std::int32_t, void*) {
    give_back(data);
  };
  return allocator;
}

}  // namespace gradstep::test
