// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>

#include <cstdint>

namespace gradstep {

/// How many descriptors this process may have; 0 if the system does not say.
inline std::uint64_t most_descriptors() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

}  // namespace gradstep
