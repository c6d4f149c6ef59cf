// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * How beta3 rises. logarithm: as the paper and pytorch_optimizer; half_life: linear in it, as NVIDIA.
 */
public enum AdEMAMixWarmup {
  /** {@code logarithm}. */
  LOGARITHM,
  /** {@code half_life}. */
  HALF_LIFE
}
