// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from include/c_api/gradstep.
package org.gradstep;

/** Choices of {@link AccumulatorOptions.Builder#mode}. */
public enum AccumulationMode {
  /** a += g / K. */
  MEAN_EACH(core.ACCUMULATE_MEAN_EACH),
  /** a += g. */
  SUM(core.ACCUMULATE_SUM),
  /** a += g, divided by m at the end. */
  MEAN(core.ACCUMULATE_MEAN),
  /** a += (g - a) / (k + 1). */
  RUNNING_MEAN(core.ACCUMULATE_RUNNING_MEAN),
  /** a += w g, divided by the sum of weights at the end. */
  WEIGHTED(core.ACCUMULATE_WEIGHTED);

  final int code;

  AccumulationMode(int code) {
    this.code = code;
  }
}
