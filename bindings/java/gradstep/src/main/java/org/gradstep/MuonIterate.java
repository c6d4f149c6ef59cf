// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * What the Newton-Schulz iterations change. matrix: X; gram: X X^T and the matrix that X is multiplied by at the end,
 * fewer operations; it changes nothing where one axis is less than 1.5 times the other (Zhang et al. 2026, Gram
 * Newton-Schulz).
 */
public enum MuonIterate {
  /** {@code matrix}. */
  MATRIX,
  /** {@code gram}. */
  GRAM
}
