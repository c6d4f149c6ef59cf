// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from include/c_api/gradstep.
package org.gradstep;

/** Choices of {@link AccumulatorOptions.Builder#nonfinite}. */
public enum NonfinitePolicy {
  /** Infinities and NaNs are summed like any number. */
  NONE(core.NONFINITE_NONE),
  /** As NONE, and {@code gradstep_accumulator_norm} of the window says NaN or infinity. */
  POISON(core.NONFINITE_POISON),
  /**
   * A micro-batch whose norm is not finite is not added: an element is not, or the sum of squares, in f64,
   * overflows; costs one read of it.
   */
  SKIP(core.NONFINITE_SKIP);

  final int code;

  NonfinitePolicy(int code) {
    this.code = code;
  }
}
