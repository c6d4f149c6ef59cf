// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * Elements that one unit has. rows: all but the first axis; columns: the first of two or three axes, all but the last
 * of more (optax); second: the second of two or three axes, all but the first of more (pytorch_optimizer). A tensor of
 * one axis is one unit.
 */
public enum AdaptiveClipUnits {
  /** {@code rows}. */
  ROWS,
  /** {@code columns}. */
  COLUMNS,
  /** {@code second}. */
  SECOND
}
