// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * Reference: wide matrices are transposed; where a column of R is zero, that of Q stays (dion_reference); simple:
 * never transposed; where a column of R is zero, that of Q becomes zero; a zero column of P becomes one of the
 * identity (dion_simple).
 */
public enum DionForm {
  /** {@code reference}. */
  REFERENCE,
  /** {@code simple}. */
  SIMPLE
}
