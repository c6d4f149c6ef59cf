// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from include/c_api/gradstep.
package org.gradstep;

/** What roots are computed in. */
public enum RootPrecision {
  /** f64. */
  F64(core.ROOT_PRECISION_F64),
  /** A root that fails is tried again in f64 first, see rootRetries. */
  F32(core.ROOT_PRECISION_F32);

  final int code;

  RootPrecision(int code) {
    this.code = code;
  }
}
