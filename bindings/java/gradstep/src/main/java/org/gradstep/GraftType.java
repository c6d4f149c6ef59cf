// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from include/c_api/gradstep.
package org.gradstep;

/** Whose step length a preconditioned direction gets, and what is used before start_preconditioning_step. */
public enum GraftType {
  /** u = g. */
  SGD(core.GRAFT_TYPE_SGD),
  /** v += g^2, u = g / (sqrt(v) + diagonalEpsilon). */
  ADAGRAD(core.GRAFT_TYPE_ADAGRAD),
  /** v = w1 v + w2 g^2 with the w of the statistics, u as above. */
  RMSPROP(core.GRAFT_TYPE_RMSPROP),
  /** RMSPROP of g / (|g| + 1e-16). */
  RMSPROP_NORMALIZED(core.GRAFT_TYPE_RMSPROP_NORMALIZED),
  /** u = sign(g). */
  SQRT_N(core.GRAFT_TYPE_SQRT_N),
  /** ADAGRAD of g / (|g| + 1e-16). */
  ADAGRAD_NORMALIZED(core.GRAFT_TYPE_ADAGRAD_NORMALIZED),
  /** Adam's direction, by graftBeta1, graftBeta2 and diagonalEpsilon. */
  ADAM(core.GRAFT_TYPE_ADAM),
  /** The direction keeps its length; u = g. */
  NONE(core.GRAFT_TYPE_NONE);

  final int code;

  GraftType(int code) {
    this.code = code;
  }
}
