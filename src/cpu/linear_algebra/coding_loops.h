// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The loops between matrices in codes (kernels/column_code.h) and their numbers. coding_loops.inc is compiled once for
// each instruction set; all give the same bits.
#pragma once

#include "backend/preconditioning.h"

namespace gradstep::cpu {

/// The loops over matrices that have a coding. Numbers are row-major. Where rows are given, they are those of the rows.
struct CodingLoops {
  void (*decode)(const StoredMatrix& from, std::int64_t begin_row, std::int64_t end_row, float* numbers);
  /// largest[j], of magnitudes so far, takes in column j of these rows. A diagonal that is kept apart does not count.
  void (*take_largest)(const StoredMatrix& matrix, std::int64_t begin_row, std::int64_t end_row, const float* numbers,
                       float* largest);
  /// to.buckets holds the largest magnitude of each column.
  void (*encode)(const float* numbers, const StoredMatrix& to);
};

extern const CodingLoops kCodingBaseline;
#if defined(GRADSTEP_HAS_X86_LOOPS)
extern const CodingLoops kCodingAvx2;
extern const CodingLoops kCodingAvx512;
#endif

}  // namespace gradstep::cpu
