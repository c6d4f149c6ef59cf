// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * The Newton-Schulz iterations' numbers.
 */
public enum MuonCoefficients {
  /** {@code simple}. */
  SIMPLE,
  /** {@code quintic}. */
  QUINTIC,
  /** {@code polar_express}. */
  POLAR_EXPRESS,
  /** {@code polar_express_nvidia}. */
  POLAR_EXPRESS_NVIDIA,
  /** {@code cans}. */
  CANS,
  /** {@code aol}. */
  AOL,
  /** {@code deepseekv4}. */
  DEEPSEEKV4,
  /** {@code cubic}. */
  CUBIC,
  /** {@code own}. */
  OWN
}
