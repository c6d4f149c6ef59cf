// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "core/array.h"

namespace gradstep {

/// Throws INVALID_ARGUMENT if a written buffer overlaps any other one. `updates` may be empty; updates[i] may be
/// exactly grads[i].
void check_overlap(std::span<const Array> params, std::span<const Array> grads, std::span<const Array> updates);

}  // namespace gradstep
