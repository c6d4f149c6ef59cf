// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from include/c_api/gradstep.
package org.gradstep;

/** Option "decay_mode" of every rule. All but the first two subtract from the parameter. */
public enum DecayMode {
  /** As the rule says. */
  RULE(core.DECAY_MODE_RULE),
  /** weightDecay * p is added to the gradient. */
  COUPLED(core.DECAY_MODE_COUPLED),
  /** learningRate * weightDecay * p. */
  DECOUPLED(core.DECAY_MODE_DECOUPLED),
  /** weightDecay * p. */
  INDEPENDENT(core.DECAY_MODE_INDEPENDENT),
  /** learningRate / peakLearningRate * weightDecay * p. */
  RELATIVE(core.DECAY_MODE_RELATIVE),
  /** learningRate^2 / peakLearningRate * weightDecay * p. */
  CORRECTED(core.DECAY_MODE_CORRECTED);

  final int code;

  DecayMode(int code) {
    this.code = code;
  }
}
