// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * Authors (as pytorch_optimizer) or optax: what k is.
 */
public enum AdanForm {
  /** {@code authors}. */
  AUTHORS,
  /** {@code optax}. */
  OPTAX
}
