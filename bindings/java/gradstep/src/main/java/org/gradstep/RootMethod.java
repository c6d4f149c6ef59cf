// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from include/c_api/gradstep.
package org.gradstep;

/** Choices of {@link ShampooOptions.Builder#rootMethod}. */
public enum RootMethod {
  /** Chosen by size and device: EIGH on CPU. */
  AUTO(core.ROOT_METHOD_AUTO),
  /** Google's iteration, in scaled steps. */
  COUPLED_NEWTON(core.ROOT_METHOD_COUPLED_NEWTON),
  /** By the tridiagonal form of the statistic, or its eigenvectors. */
  EIGH(core.ROOT_METHOD_EIGH);

  final int code;

  RootMethod(int code) {
    this.code = code;
  }
}
