// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from include/c_api/gradstep.
package org.gradstep;

/** Choices of {@link SgdOptions.Builder#firstStep}. */
public enum SgdFirstStep {
  /** SINGA: the buffer starts at 0 and the first gradient is dampened too. */
  DAMPEN(core.SGD_FIRST_STEP_DAMPEN),
  /** PyTorch: the first gradient is copied into the buffer. */
  COPY(core.SGD_FIRST_STEP_COPY);

  final int code;

  SgdFirstStep(int code) {
    this.code = code;
  }
}
