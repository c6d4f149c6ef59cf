// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What a program takes of the host's memory: counted_memory.cpp replaces its operator new.
#pragma once

#include <cstddef>
#include <functional>

#include "gradstep/context.h"

namespace gradstep::test {

/// How often `call` uses operator new, and for how many bytes.
struct Allocated {
  long times = 0;
  long bytes = 0;
};
Allocated allocated_by(const std::function<void()>& call);

/// Bytes that are taken now: the host's, as the C library gives them, and those that count_live() has added.
long live_bytes();
/// Memory of a device is taken, or given back where `bytes` is negative.
void count_live(long bytes);

/// A context's allocator of the host's memory, whose buffers count as those of operator new.
gradstep_allocator counted_allocator();

}  // namespace gradstep::test
