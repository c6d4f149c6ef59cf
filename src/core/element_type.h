// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace gradstep {

enum class DType : std::uint8_t { f32, f64, f16, bf16, i32, i64, u8 };

/// Axes of an array, at most.
inline constexpr int kMaxDimensions = 32;

}  // namespace gradstep
