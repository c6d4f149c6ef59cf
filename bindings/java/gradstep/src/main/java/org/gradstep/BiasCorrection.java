// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from include/c_api/gradstep.
package org.gradstep;

/** Choices of {@link AdamOptions.Builder#biasCorrection}. */
public enum BiasCorrection {
  /** Standard. */
  STANDARD(core.BIAS_CORRECTION_STANDARD),
  /** TensorFlow and Lingvo: epsilon joins sqrt(v) before the correction. */
  TF(core.BIAS_CORRECTION_TF);

  final int code;

  BiasCorrection(int code) {
    this.code = code;
  }
}
