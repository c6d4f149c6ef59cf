// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * Whose steps t counts; parameter: those that each took part in, as PyTorch does.
 */
public enum StepCounting {
  /** {@code optimizer}. */
  OPTIMIZER,
  /** {@code parameter}. */
  PARAMETER
}
