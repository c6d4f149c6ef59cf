// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from include/c_api/gradstep.
package org.gradstep;

/**
 * What the f32 products of a device may do to their operands: statistics, P(g), and SOAP's rotations. Roots and
 * bases are not concerned.
 */
public enum ProductPrecision {
  /** f32. */
  F32(core.PRODUCT_PRECISION_F32),
  /** CUDA: tensor cores, which keep 10 of 23 bits; sums in f32. CPU: as F32. */
  TF32(core.PRODUCT_PRECISION_TF32);

  final int code;

  ProductPrecision(int code) {
    this.code = code;
  }
}
