// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from include/c_api/gradstep.
package org.gradstep;

/** Option "step_counting" of every rule: whose steps t counts. */
public enum StepCounting {
  /** Optimizer. */
  OPTIMIZER(core.STEP_COUNTING_OPTIMIZER),
  /** Steps that each took part in, as PyTorch does. */
  PARAMETER(core.STEP_COUNTING_PARAMETER);

  final int code;

  StepCounting(int code) {
    this.code = code;
  }
}
