// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * How long o is then. kept: as before (NorMuon); free: as it comes (AdaMuon: NVIDIA); full: sqrt(min(rows, columns)),
 * with v / (1 - variance_beta^(t+1)) (AdaMuon: pytorch_optimizer).
 */
public enum MuonVarianceLength {
  /** {@code kept}. */
  KEPT,
  /** {@code free}. */
  FREE,
  /** {@code full}. */
  FULL
}
