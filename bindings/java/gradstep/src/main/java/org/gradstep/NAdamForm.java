// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * Torch or optax.
 */
public enum NAdamForm {
  /** {@code torch}. */
  TORCH,
  /** {@code optax}. */
  OPTAX
}
