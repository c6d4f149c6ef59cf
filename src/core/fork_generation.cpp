// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "core/fork_generation.h"

#include <atomic>
#include <mutex>

#include "core/error.h"
#include "core/platform/system.h"

namespace gradstep {

namespace {
std::atomic<std::uint32_t> generation{0};
std::once_flag armed;
}  // namespace

std::uint32_t fork_generation() noexcept { return generation.load(std::memory_order_relaxed); }

void watch_forks() {
  std::call_once(armed, [] {
    const int failed = platform::call_in_forked_children([] { generation.fetch_add(1, std::memory_order_relaxed); });
    if (failed != 0) fail(GRADSTEP_ERR_OUT_OF_MEMORY, "pthread_atfork failed with {}", failed);
  });
}

}  // namespace gradstep
