// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * adamw, sgd or radam: the rule that gives the direction.
 */
public enum ScheduleFreeInner {
  /** {@code adamw}. */
  ADAMW,
  /** {@code sgd}. */
  SGD,
  /** {@code radam}. */
  RADAM
}
