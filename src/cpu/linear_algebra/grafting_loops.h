// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The element-wise loops of a Shampoo step over kernels/grafting.h. grafting_loops.inc is compiled once for each
// instruction set; all give the same bits.
#pragma once

#include <cstdint>

#include "kernels/grafting.h"

namespace gradstep::cpu {

struct FinishArrays {
  const float* u;
  const float* direction;
  const float* p;
  float* momentum;
  float* diagonal;
  float* out;  ///< may be u or p
};

/// Arrays that are given twice to one call must be the same from the beginning on.
struct GraftingLoops {
  double (*sum_of_squares)(const float* x, std::int64_t count);

  /// u = scale g / (sqrt(v) + epsilon).
  void (*divide_by_root)(const float* g, float* v, float* u, std::int64_t count, float scale,
                         const kernels::RootConstants& constants);

  void (*take_signs)(const float* g, float* u, std::int64_t count);

  /// d may be g.
  void (*adam)(const float* g, float* m, float* v, float* d, std::int64_t count,
               const kernels::MomentConstants& constants);

  /// From u, the grafting direction, and P(g) to the change of p. Without `direction` the parameter is not
  /// preconditioned and has one momentum, `diagonal`; with it and `diagonal` NULL the two directions share `momentum`
  /// (SQRT_N).
  void (*finish)(const FinishArrays& arrays, std::int64_t count, const kernels::FinishConstants& constants);

  /// From Adam's direction to the change of p. out may be p; `adds` as in FinishConstants.
  void (*finish_corrected)(const float* direction, const float* p, float* out, std::int64_t count, bool adds,
                           const kernels::CorrectedConstants& constants);
};

extern const GraftingLoops kGraftingBaseline;
#if defined(GRADSTEP_HAS_X86_LOOPS)
extern const GraftingLoops kGraftingAvx2;
#endif

}  // namespace gradstep::cpu
