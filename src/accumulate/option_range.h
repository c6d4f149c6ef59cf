// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/error.h"

namespace gradstep {

/// Throws INVALID_ARGUMENT unless first <= value <= last.
inline void check_option_range(const char* field, std::int32_t value, std::int32_t first, std::int32_t last) {
  if (value < first || value > last) {
    fail_argument("options.{}: is {}, expected {} to {}", field, value, first, last);
  }
}

}  // namespace gradstep
