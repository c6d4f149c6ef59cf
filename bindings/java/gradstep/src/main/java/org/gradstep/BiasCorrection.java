// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * Tf: epsilon joins sqrt(v) before the correction (TensorFlow, Lingvo).
 */
public enum BiasCorrection {
  /** {@code standard}. */
  STANDARD,
  /** {@code tf}. */
  TF
}
