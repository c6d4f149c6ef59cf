// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * Average: m = momentum * m + (1 - momentum) * g (KellerJordan, torch, NVIDIA); sum: m = momentum * m + g (Moonlight,
 * dion); corrected: the average, corrected for its bias (optax).
 */
public enum MuonMomentumForm {
  /** {@code average}. */
  AVERAGE,
  /** {@code sum}. */
  SUM,
  /** {@code corrected}. */
  CORRECTED
}
