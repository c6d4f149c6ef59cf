// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What the objects of the library are given instead of a host's tensors: arrays that have passed their checks.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "core/array.h"

namespace gradstep {

/// One array for each parameter. Lists of one version show the same memory: what was worked out for it still holds.
struct BufferList {
  std::span<const Array> arrays;
  std::uint64_t version = 0;  ///< 0 = unknown, and equal to none

  const Array& operator[](std::size_t i) const { return arrays[i]; }
  std::size_t size() const { return arrays.size(); }
  bool empty() const { return arrays.empty(); }
  auto begin() const { return arrays.begin(); }
  auto end() const { return arrays.end(); }

  bool shows_again(const BufferList& other) const { return version != 0 && version == other.version; }
};

/// A version that no list has had.
inline std::uint64_t new_version() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

/// Buffers of gradstep's own, shown as a list: it has a new version only when one of them is another one.
class OwnBuffers {
 public:
  void set(std::size_t i, const Array& array) {
    if (i >= arrays_.size()) arrays_.resize(i + 1);
    changed_ = changed_ || arrays_[i].data != array.data;
    arrays_[i] = array;
  }
  BufferList list() {
    if (changed_ || version_ == 0) version_ = new_version();
    changed_ = false;
    return {arrays_, version_};
  }

 private:
  std::vector<Array> arrays_;
  std::uint64_t version_ = 0;
  bool changed_ = false;
};

/// What a step reads and writes. `updates` empty = it steps params in place.
struct StepBuffers {
  BufferList params;
  BufferList grads;
  BufferList updates;
};

}  // namespace gradstep
