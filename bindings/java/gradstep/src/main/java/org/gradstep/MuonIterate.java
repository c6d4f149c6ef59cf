// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * What the Newton-Schulz iterations change. matrix: X; gram: X X^T and a matrix by which X is multiplied at the end,
 * which takes fewer operations (Zhang et al. 2026, Gram Newton-Schulz); as matrix where one axis is less than 1.5
 * times the other.
 */
public enum MuonIterate {
  /** {@code matrix}. */
  MATRIX,
  /** {@code gram}. */
  GRAM
}
