// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from include/c_api/gradstep.
package org.gradstep;

/** What a sparse mode sends, and what it keeps. */
public enum ErrorFeedback {
  /** Sends of gradient + residual; keeps what was not sent (Seide et al. 2014, SINGA). */
  EF14(core.ERROR_FEEDBACK_EF14),
  /**
   * Sends of the difference between the gradient and an estimate of it that all ranks together know; the result is
   * the sum of all estimates, dense. SPARSE_TOPK only, average not WEIGHTED (Richtarik, Sokolov, Fatkhullin 2021).
   */
  EF21(core.ERROR_FEEDBACK_EF21);

  final int code;

  ErrorFeedback(int code) {
    this.code = code;
  }
}
