// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * Torch or optax: which axes are factored, what epsilon does, and what bounds the rate.
 */
public enum AdafactorForm {
  /** {@code torch}. */
  TORCH,
  /** {@code optax}. */
  OPTAX
}
