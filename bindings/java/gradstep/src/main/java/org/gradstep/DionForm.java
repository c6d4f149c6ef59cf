// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * Reference: wide matrices count as their transposes, and columns of Q that nothing comes of stay (dion_reference);
 * simple: never transposed, such columns are zero and begin again with the identity (dion_simple).
 */
public enum DionForm {
  /** {@code reference}. */
  REFERENCE,
  /** {@code simple}. */
  SIMPLE
}
