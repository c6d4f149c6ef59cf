// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace gradstep {

/// Memory at multiples of a cache line.
template <class T>
struct AlignedAllocator {
  using value_type = T;
  static constexpr std::align_val_t kAlignment{64};

  AlignedAllocator() = default;
  template <class U>
  explicit AlignedAllocator(const AlignedAllocator<U>& /*other*/) {}

  T* allocate(std::size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), kAlignment)); }
  /// Without the size, which clang before 19 passes on by an option alone.
  void deallocate(T* data, std::size_t /*count*/) noexcept { ::operator delete(data, kAlignment); }

  friend bool operator==(const AlignedAllocator&, const AlignedAllocator&) { return true; }
};

template <class T>
using AlignedVector = std::vector<T, AlignedAllocator<T>>;

/// Resizes a list that has fewer than `count` elements. It never shrinks.
template <class List, class Count>
void grow(List& list, Count count) {
  if (list.size() < static_cast<std::size_t>(count)) list.resize(static_cast<std::size_t>(count));
}

}  // namespace gradstep
