// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The threads of a block as fibers on one thread of the CPU: each runs until it waits for the others; who is next, and
// which warps run ahead of which, is left to chance. So what a kernel computes with a barrier missing depends on the
// seed.
#pragma once

#include <cstdint>
#include <functional>

#pragma GCC visibility push(default)

namespace gradstep::emulation {

/// Runs body(thread) for all `count` threads of a block.
void run_fibers(int count, std::uint64_t seed, const char* kernel, const std::function<void(int)>& body);

// By a thread that runs. Ends the program where threads that are still alive do not all come to the same kind of wait.
void wait_for_block();
void wait_for_warp();

}  // namespace gradstep::emulation

#pragma GCC visibility pop
