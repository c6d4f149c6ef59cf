// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What a kernel object (block.h) says of itself.
#pragma once

#include <cstddef>

#include "device/block.h"

namespace gradstep::cuda {

template <class Kernel>
concept Shares = requires { typename Kernel::Shared; };

template <class Kernel>
constexpr std::size_t shared_bytes() {
  if constexpr (Shares<Kernel>) {
    return sizeof(typename Kernel::Shared);
  } else {
    return 0;
  }
}

template <class Kernel>
constexpr bool waits() {
  if constexpr (requires { Kernel::kWaits; }) {
    return Kernel::kWaits;
  } else {
    return Shares<Kernel>;
  }
}

/// Blocks that a multiprocessor is to hold at least, by which nvcc chooses how many registers a thread may have: 64
/// unless the kernel says else. Left alone, it spills to hold a few more.
template <class Kernel>
constexpr int resident_blocks() {
  if constexpr (requires { Kernel::kResidentBlocks; }) {
    return Kernel::kResidentBlocks;
  } else {
    return Kernel::kThreads >= 64 ? 1024 / Kernel::kThreads : 1;
  }
}

}  // namespace gradstep::cuda
