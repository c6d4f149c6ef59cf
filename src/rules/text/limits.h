// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// How large a rule may be that is written as text. Hyper-parameters and states: rules/description.h.
#pragma once

#include <cstddef>

#include "rules/description.h"

namespace gradstep::rules::text {

inline constexpr std::size_t kMostBytes = 16384;
inline constexpr std::size_t kMostNameBytes = 63;
inline constexpr std::size_t kMostDepth = 100;       ///< of parentheses, signs and exponents within each other
inline constexpr std::size_t kMostNodes = 1024;      ///< different numbers, names and operations
inline constexpr std::size_t kMostNumbers = 64;      ///< constants of a step that elements are computed with
inline constexpr std::size_t kMostTemporaries = 16;  ///< results of an element that are needed at the same time
inline constexpr std::size_t kMostSums = kMaxSums;
inline constexpr std::size_t kMostHypers = kMaxFields - 1;  ///< one more is the library's weight_decay

}  // namespace gradstep::rules::text
