// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace gradstep {

/// How states are kept. All but native is for parameters that are computed in f32.
enum class StateFormat : std::uint8_t {
  native,      ///< in the arithmetic type
  bf16,        ///< rounded after every step
  block_code,  ///< kernels/block_code.h
};

}  // namespace gradstep
