// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Lists that are short and do not live long: they take no memory of the heap where they fit into some on the stack.
#pragma once

#include <array>
#include <cstddef>
#include <memory_resource>
#include <vector>

namespace gradstep {

template <class T>
using ShortList = std::pmr::vector<T>;

/// Memory for the lists of one function or object, and outlives them. It is given back only when this object ends.
class ShortLists {
 public:
  ShortLists() = default;
  ShortLists(const ShortLists&) = delete;
  ShortLists& operator=(const ShortLists&) = delete;

  template <class T>
  ShortList<T> of() {
    return ShortList<T>(&memory_);
  }

 private:
  static constexpr std::size_t kBytes = 4096;
  alignas(std::max_align_t) std::array<std::byte, kBytes> room_;  // not initialized
  std::pmr::monotonic_buffer_resource memory_{room_.data(), kBytes};
};

}  // namespace gradstep
