// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * How u is clipped: by t as optax counts it, as pytorch_optimizer does, or none.
 */
public enum AdoptClipping {
  /** {@code optax}. */
  OPTAX,
  /** {@code pytorch_optimizer}. */
  PYTORCH_OPTIMIZER,
  /** {@code none}. */
  NONE
}
