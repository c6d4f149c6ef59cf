// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Chunks of strided arrays are copied whole before loops work on them, block by block: of elements whose neighbours in
// memory are not those in row-major order, a block of 256 would use a few bytes of each line of the cache.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/loops.h"

namespace gradstep::cpu {

/// Makes arrays of up to 4 bytes an element contiguous; others are left as they are. On the stack: 64 KB.
class CompactChunk {
 public:
  CompactChunk(const Loops& loops, const Array& array, const Chunk& chunk)
      : loops_(loops), array_(array), chunk_(chunk) {}

  static bool is_for(const Array& array) {
    return array.data != nullptr && array.strides != nullptr && size_of(array.dtype) <= kElementBytes;
  }

  /// An array that has the chunk's elements, and no others; the array itself where it is not for this.
  Array read() {
    if (!is_for(array_)) return array_;
    loops_.copy(CopyItem{own(), array_}, chunk_, 1, 1);
    return own();
  }

  /// The chunk's place, for a caller that writes before it reads.
  Array place() { return is_for(array_) ? own() : array_; }

  /// What has been written there goes to the array.
  void write() {
    if (is_for(array_)) loops_.copy(CopyItem{array_, own()}, chunk_, 1, 1);
  }

 private:
  static constexpr std::int64_t kElementBytes = 4;

  /// It begins before the elements that are here, by the chunk's place.
  Array own() {
    const auto before = static_cast<std::uintptr_t>(chunk_.offset * size_of(array_.dtype));
    void* begin = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(bytes_) - before);
    return compact_array(begin, array_.size, array_.dtype);
  }

  const Loops& loops_;
  const Array& array_;
  const Chunk& chunk_;
  alignas(64) std::byte bytes_[kChunk * kElementBytes];
};

}  // namespace gradstep::cpu
