// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from include/c_api/gradstep.
package org.gradstep;

/** Choices of {@link RmsPropOptions.Builder#epsilonPlacement}. */
public enum EpsilonPlacement {
  /** g / sqrt(a + epsilon): SINGA. */
  INSIDE(core.EPSILON_PLACEMENT_INSIDE),
  /** g / (sqrt(a) + epsilon): PyTorch. */
  OUTSIDE(core.EPSILON_PLACEMENT_OUTSIDE);

  final int code;

  EpsilonPlacement(int code) {
    this.code = code;
  }
}
