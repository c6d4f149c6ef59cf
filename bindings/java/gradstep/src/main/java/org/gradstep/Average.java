// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from include/c_api/gradstep.
package org.gradstep;

/** Choices of {@link ReducerOptions.Builder#average}. */
public enum Average {
  /** What a reducer's mode says: SUM for Adasum, else MEAN. */
  UNSET(core.AVERAGE_UNSET),
  /** Sum gR. */
  SUM(core.AVERAGE_SUM),
  /** Sum gR / P. */
  MEAN(core.AVERAGE_MEAN),
  /** Sum wR gR / sum wR; zero where all weights are zero. */
  WEIGHTED(core.AVERAGE_WEIGHTED);

  final int code;

  Average(int code) {
    this.code = code;
  }
}
