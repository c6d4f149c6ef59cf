// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * Adamw or lion: the rule that gets the gradient.
 */
public enum MarsForm {
  /** {@code adamw}. */
  ADAMW,
  /** {@code lion}. */
  LION
}
