// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Norms of f64 numbers whose squares leave f64's range.
#pragma once

#include "kernels/macros.h"

namespace gradstep::kernels {

/// A power of two that brings numbers with this norm, the root of their plain squares' sum, to where their squares have
/// room. For a norm that is NaN or in range: 1.
GRADSTEP_FORMULA double norm_scale(double norm) {
  if (norm > 0x1p500) return 0x1p-600;
  return norm < 0x1p-450 ? 0x1p600 : 1;
}

}  // namespace gradstep::kernels
