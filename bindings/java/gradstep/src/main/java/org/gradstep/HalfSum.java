// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from include/c_api/gradstep.
package org.gradstep;

/** How mode HALF adds, always in the order of the ranks. */
public enum HalfSum {
  /** In f32, divided there, rounded once. */
  F32(core.HALF_SUM_F32),
  /** Every addition rounded to f16, divided after: overflows at 65504 (SINGA). */
  FP16(core.HALF_SUM_FP16),
  /** As FP16, divided before the cast (PyTorch); average MEAN only. */
  FP16_PREDIVIDED(core.HALF_SUM_FP16_PREDIVIDED);

  final int code;

  HalfSum(int code) {
    this.code = code;
  }
}
