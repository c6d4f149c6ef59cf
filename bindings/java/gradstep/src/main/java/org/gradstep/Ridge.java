// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from include/c_api/gradstep.
package org.gradstep;

/** What is added to a statistic's diagonal before its root is taken. */
public enum Ridge {
  /** matrixEpsilon * max(largest eigenvalue, 1e-6). */
  RELATIVE(core.RIDGE_RELATIVE),
  /** matrixEpsilon, as in Meta's Shampoo. */
  ABSOLUTE(core.RIDGE_ABSOLUTE);

  final int code;

  Ridge(int code) {
    this.code = code;
  }
}
