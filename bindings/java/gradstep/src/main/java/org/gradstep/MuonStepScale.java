// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * Shape: sqrt(max(1, rows / columns)) (KellerJordan, torch); rms: 0.2 sqrt(max(rows, columns)) (Moonlight, torch);
 * spectral: sqrt(rows / columns) (dion, torch, NVIDIA); largest: sqrt(max(rows, columns)) (NVIDIA); kernel:
 * sqrt(max(1, columns / rows)), for weights of inputs x outputs (optax); none: 1.
 */
public enum MuonStepScale {
  /** {@code shape}. */
  SHAPE,
  /** {@code rms}. */
  RMS,
  /** {@code spectral}. */
  SPECTRAL,
  /** {@code largest}. */
  LARGEST,
  /** {@code kernel}. */
  KERNEL,
  /** {@code none}. */
  NONE
}
