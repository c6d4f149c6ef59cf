// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "optim/shampoo/dense.h"
#include "optim/shampoo/grafting.h"

namespace gradstep {

/// The inner loops of Shampoo for one instruction set.
struct Arithmetic {
  const Dense& dense;
  const GraftingLoops& grafting;
};

/// Those for a backend's instruction set ("avx2"); the baseline for a name that has none. AVX-512 takes those of AVX2,
/// whose products are as fast on the processors that were measured, and whose numbers both then share.
Arithmetic choose_arithmetic(const char* instruction_set);

}  // namespace gradstep
