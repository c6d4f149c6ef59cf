// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * What a matrix is divided by first. add: norm + epsilon; max: max(norm, epsilon); safe: 1.02 norm + epsilon.
 */
public enum MuonNormalizer {
  /** {@code add}. */
  ADD,
  /** {@code max}. */
  MAX,
  /** {@code safe}. */
  SAFE
}
