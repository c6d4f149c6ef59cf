// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "gradstep/comm.h"

namespace gradstep {

inline constexpr std::int64_t kDefaultCommTimeoutMs = 30000;

/// What every communicator is made with.
struct CommSettings {
  std::int64_t timeout_ms = kDefaultCommTimeoutMs;
  std::int32_t reduction_order = GRADSTEP_REDUCTION_RANK;
};

/// Checks the timeout and the order of an options struct.
CommSettings comm_settings(const gradstep_comm_options& options);

}  // namespace gradstep
