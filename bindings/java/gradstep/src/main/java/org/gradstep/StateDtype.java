// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from include/c_api/gradstep.
package org.gradstep;

/** How state tensors are stored. f64 parameters take NATIVE only. */
public enum StateDtype {
  /** f32; f64 for f64 parameters. */
  NATIVE(core.STATE_DTYPE_NATIVE),
  /** bf16. */
  BF16(core.STATE_DTYPE_BF16),
  /**
   * One byte an element, by blocks of 256 as in Dettmers et al. 2022 ("8-bit optimizers via block-wise
   * quantization"): zero, or how many octaves the element is below the largest magnitude of its block, in steps that
   * widen with the distance, and its sign (sums of squares have none). The largest is kept exactly, an f32 for each
   * block.
   */
  INT8(core.STATE_DTYPE_INT8);

  final int code;

  StateDtype(int code) {
    this.code = code;
  }
}
