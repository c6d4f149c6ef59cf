// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * Coupled: weight_decay * p is added to the gradient. Others subtract from p: decoupled
 * learning_rate * weight_decay * p; independent weight_decay * p; relative learning_rate /
 * peak_learning_rate * weight_decay * p; corrected learning_rate^2 / peak_learning_rate * weight_decay * p. rule: as
 * the rule says.
 */
public enum DecayMode {
  /** {@code rule}. */
  RULE,
  /** {@code coupled}. */
  COUPLED,
  /** {@code decoupled}. */
  DECOUPLED,
  /** {@code independent}. */
  INDEPENDENT,
  /** {@code relative}. */
  RELATIVE,
  /** {@code corrected}. */
  CORRECTED
}
