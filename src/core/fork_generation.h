// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Tells a forked child from its parent without a system call.
#pragma once

#include <cstdint>

namespace gradstep {

/// A number that a child of fork() sees grown by one.
std::uint32_t fork_generation() noexcept;

/// Arms the counter; called before the first handle exists. Safe to repeat.
void watch_forks();

}  // namespace gradstep
