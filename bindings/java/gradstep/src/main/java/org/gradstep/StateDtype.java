// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * How state is stored; int8: one byte an element, coded in blocks.
 */
public enum StateDtype {
  /** {@code native}. */
  NATIVE,
  /** {@code bf16}. */
  BF16,
  /** {@code int8}. */
  INT8
}
