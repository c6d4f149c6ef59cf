// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The loops between matrices in codes (kernels/column_code.h) and their numbers. coding_loops.inc is compiled once for
// each instruction set; all give the same bits.
#pragma once

#include "backend/preconditioning.h"

namespace gradstep::cpu {

/// Of matrices that have a coding. Numbers are row-major, rows * columns of them.
struct CodingLoops {
  void (*encode)(const float* numbers, const StoredMatrix& to);
  void (*decode)(const StoredMatrix& from, float* numbers);
};

extern const CodingLoops kCodingBaseline;
#if defined(GRADSTEP_HAS_X86_LOOPS)
extern const CodingLoops kCodingAvx2;
#endif

}  // namespace gradstep::cpu
