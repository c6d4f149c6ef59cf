// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "detached/closed_memory.h"

#if defined(_WIN32)
#include <windows.h>
#else
#include <sys/mman.h>
#endif

#include "core/error.h"

#if defined(__SANITIZE_ADDRESS__)
#define GRADSTEP_POISONS
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define GRADSTEP_POISONS
#endif
#endif
#if defined(GRADSTEP_POISONS)
#include <sanitizer/asan_interface.h>
#endif

namespace gradstep::test {

namespace {

constexpr std::size_t kSpace = std::size_t{1} << 32;  // of addresses; memory is taken as it is used
constexpr std::size_t kPage = 4096;
constexpr std::size_t kBetween = kAlignment;  // bytes between buffers

constexpr std::size_t rounded(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

constexpr std::size_t room_for(std::size_t bytes) { return rounded(bytes, kAlignment) + kBetween; }

#if defined(_WIN32)

void* reserve(std::size_t bytes) { return VirtualAlloc(nullptr, bytes, MEM_RESERVE, PAGE_NOACCESS); }
void release(void* begin, std::size_t) { VirtualFree(begin, 0, MEM_RELEASE); }
void empty(void* begin, std::size_t bytes) { VirtualFree(begin, bytes, MEM_DECOMMIT); }
void let_access(void* begin, std::size_t bytes) {
  DWORD before = 0;
  VirtualAlloc(begin, bytes, MEM_COMMIT, PAGE_READWRITE);
  VirtualProtect(begin, bytes, PAGE_READWRITE, &before);
}
void refuse_access(void* begin, std::size_t bytes) {
  DWORD before = 0;
  VirtualProtect(begin, bytes, PAGE_NOACCESS, &before);
}

#else

/// Addresses without memory; NULL = there are no more.
void* reserve(std::size_t bytes) {
  void* begin = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return begin == MAP_FAILED ? nullptr : begin;
}
void release(void* begin, std::size_t bytes) { munmap(begin, bytes); }
/// Gives the memory back, and keeps the addresses.
void empty(void* begin, std::size_t bytes) { madvise(begin, bytes, MADV_DONTNEED); }
void let_access(void* begin, std::size_t bytes) { mprotect(begin, bytes, PROT_READ | PROT_WRITE); }
void refuse_access(void* begin, std::size_t bytes) { mprotect(begin, bytes, PROT_NONE); }

#endif

void poison([[maybe_unused]] const void* data, [[maybe_unused]] std::size_t bytes) {
#if defined(GRADSTEP_POISONS)
  __asan_poison_memory_region(data, bytes);
#endif
}

void unpoison([[maybe_unused]] const void* data, [[maybe_unused]] std::size_t bytes) {
#if defined(GRADSTEP_POISONS)
  __asan_unpoison_memory_region(data, bytes);
#endif
}

}  // namespace

ClosedMemory::ClosedMemory() : begin_(static_cast<std::byte*>(reserve(kSpace))) {
  if (begin_ == nullptr) fail(GRADSTEP_ERR_OUT_OF_MEMORY, "no address space for a device's memory");
}

ClosedMemory::~ClosedMemory() {
  unpoison(begin_, used_);
  release(begin_, kSpace);
}

void* ClosedMemory::allocate(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  const std::lock_guard lock(mutex_);
  ++allocations_;
  const std::size_t room = room_for(bytes);
  std::byte* data = begin_ + used_;
  if (const auto found = free_.find(room); found != free_.end()) {
    data = found->second;
    free_.erase(found);
  } else {
    if (used_ + room > kSpace) fail(GRADSTEP_ERR_OUT_OF_MEMORY, "the device has no {} bytes", bytes);
    used_ += room;
    if (open_ > 0) let_access(begin_, rounded(used_, kPage));
  }
  unpoison(data, bytes);
  poison(data + bytes, room - bytes);
  ++live_;
  return data;
}

void ClosedMemory::deallocate(void* data, std::size_t bytes) noexcept {
  if (data == nullptr) return;
  const std::lock_guard lock(mutex_);
  poison(data, bytes);
  free_.emplace(room_for(bytes), static_cast<std::byte*>(data));
  if (--live_ > 0) return;
  // Closing takes time by the pages that were ever used.
  free_.clear();
  empty(begin_, used_);
  if (open_ > 0) refuse_access(begin_, rounded(used_, kPage));
  used_ = 0;
}

bool ClosedMemory::contains(const void* data, std::size_t bytes) const {
  const auto* first = static_cast<const std::byte*>(data);
  return first >= begin_ && first + bytes <= begin_ + kSpace;
}

bool ClosedMemory::has_buffers_at([[maybe_unused]] const void* data, [[maybe_unused]] std::size_t bytes) {
#if defined(GRADSTEP_POISONS)
  return __asan_region_is_poisoned(const_cast<void*>(data), bytes) == nullptr;
#else
  return true;
#endif
}

void ClosedMemory::open() {
  const std::lock_guard lock(mutex_);
  if (open_++ == 0 && used_ > 0) let_access(begin_, rounded(used_, kPage));
}

void ClosedMemory::close() {
  const std::lock_guard lock(mutex_);
  if (--open_ == 0 && used_ > 0) refuse_access(begin_, rounded(used_, kPage));
}

}  // namespace gradstep::test
