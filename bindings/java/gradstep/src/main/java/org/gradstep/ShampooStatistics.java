// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from include/c_api/gradstep.
package org.gradstep;

/** What is contracted with itself over all other axes, and enters the statistic of an axis. */
public enum ShampooStatistics {
  /** g. */
  GRADIENTS(core.SHAMPOO_STATISTICS_GRADIENTS),
  /** KL-Shampoo: g multiplied by the preconditioners of the other axes. */
  KL(core.SHAMPOO_STATISTICS_KL),
  /** KL, divided by the number of elements of the other axes. */
  KL_MEAN(core.SHAMPOO_STATISTICS_KL_MEAN);

  final int code;

  ShampooStatistics(int code) {
    this.code = code;
  }
}
