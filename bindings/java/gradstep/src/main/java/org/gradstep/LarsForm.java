// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * Optax or pytorch_optimizer: what the ratio is, and when the learning rate multiplies.
 */
public enum LarsForm {
  /** {@code optax}. */
  OPTAX,
  /** {@code pytorch_optimizer}. */
  PYTORCH_OPTIMIZER
}
