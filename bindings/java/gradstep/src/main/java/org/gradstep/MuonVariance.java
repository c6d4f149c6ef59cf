// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * What o is divided by the root of: a mean square of each of the rows (NorMuon: dion, pytorch_optimizer), of the
 * longer axis (NorMuon: NVIDIA), of the elements (AdaMuon); kept as the state variance.
 */
public enum MuonVariance {
  /** {@code none}. */
  NONE,
  /** {@code rows}. */
  ROWS,
  /** {@code longer}. */
  LONGER,
  /** {@code elements}. */
  ELEMENTS
}
