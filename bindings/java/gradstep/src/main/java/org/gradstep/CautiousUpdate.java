// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from include/c_api/gradstep.
package org.gradstep;

/**
 * Option "cautious_update" of every rule: elements whose change has the sign of the gradient are left out, and the k
 * of n that stay in a tensor are multiplied. Source: Liang et al. 2024, Cautious Optimizers.
 */
public enum CautiousUpdate {
  /** Off. */
  OFF(core.CAUTIOUS_UPDATE_OFF),
  /** By 1 / max(k / n, 1e-3). */
  MEAN(core.CAUTIOUS_UPDATE_MEAN),
  /** By n / (k + 1). */
  SUM(core.CAUTIOUS_UPDATE_SUM);

  final int code;

  CautiousUpdate(int code) {
    this.code = code;
  }
}
