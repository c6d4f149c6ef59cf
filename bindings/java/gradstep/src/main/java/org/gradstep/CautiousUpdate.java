// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * Leaves out elements whose change has the sign of the gradient, and multiplies the others: mean by 1 / max(k / n,
 * 1e-3), sum by n / (k + 1), where k of n elements of the tensor stay.
 */
public enum CautiousUpdate {
  /** {@code off}. */
  OFF,
  /** {@code mean}. */
  MEAN,
  /** {@code sum}. */
  SUM
}
