// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cpu/linear_algebra/coding_loops.h"
#include "cpu/linear_algebra/dense.h"
#include "cpu/linear_algebra/grafting_loops.h"

namespace gradstep::cpu {

/// The inner loops of Shampoo for one instruction set; instruction_set.h chooses.
struct Arithmetic {
  const char* name;
  const Dense& dense;
  const GraftingLoops& grafting;
  const CodingLoops& coding;
};

inline constexpr Arithmetic kBaselineArithmetic{"baseline", kDenseBaseline, kGraftingBaseline, kCodingBaseline};

}  // namespace gradstep::cpu
