// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * Precision of the Newton-Schulz iterations. f32: that of the arithmetic type; bf16: iterates are rounded to it, and
 * products sum in f32 (NVIDIA, KellerJordan, torch), in bits that depend on the processor.
 */
public enum MuonProductPrecision {
  /** {@code f32}. */
  F32,
  /** {@code bf16}. */
  BF16
}
