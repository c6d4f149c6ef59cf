// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The element-wise loops of a Shampoo step: grafting directions, Adam in an eigenbasis, and the two momenta.
// grafting.inc is compiled once for each instruction set; all give the same bits.
#pragma once

#include <cstdint>

namespace gradstep {

struct AdamConstants {
  float beta1;
  float beta2;
  float add1;
  float add2;
  float correct1;  ///< of m
  float correct2;  ///< of v
  float epsilon;
};

/// From directions to the step: see gradstep_shampoo_options.
struct FinishConstants {
  float beta1;
  float added;           ///< the weight of a direction in its momentum
  float preconditioned;  ///< scale of P(g)
  float graft_divisor;
  float coupled_decay;
  float decoupled_decay;  ///< times the rate
  float rate;
  bool selects_preconditioned;
  bool nesterov;
  bool adds;  ///< out = p + the change, rounded twice; else the change
};

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

  /// v = keep v + add (scale g)^2; u = scale g / (sqrt(v) + epsilon).
  void (*divide_by_root)(const float* g, float* v, float* u, std::int64_t count, float scale, float keep, float add,
                         float epsilon);

  /// u = -1, 0 or 1; NaN stays.
  void (*take_signs)(const float* g, float* u, std::int64_t count);

  /// m and v take in g; d, which may be g, becomes (correct1 m) / (sqrt(correct2 v) + epsilon).
  void (*adam)(const float* g, float* m, float* v, float* d, std::int64_t count, const AdamConstants& constants);

  /// From u, the grafting direction, and P(g) to the change of p. Without `direction` the parameter is not
  /// preconditioned and has one momentum, `diagonal`; with it and `diagonal` NULL the two directions share `momentum`
  /// (SQRT_N).
  void (*finish)(const FinishArrays& arrays, std::int64_t count, const FinishConstants& constants);
};

extern const GraftingLoops kGraftingBaseline;
#if defined(GRADSTEP_HAS_X86_LOOPS)
extern const GraftingLoops kGraftingAvx2;
#endif

}  // namespace gradstep
