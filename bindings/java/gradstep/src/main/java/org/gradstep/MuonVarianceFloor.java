// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * Add: sqrt(v) + variance_epsilon; max: sqrt(max(v, variance_epsilon)).
 */
public enum MuonVarianceFloor {
  /** {@code add}. */
  ADD,
  /** {@code max}. */
  MAX
}
