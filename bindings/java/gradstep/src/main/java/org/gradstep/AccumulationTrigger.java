// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from include/c_api/gradstep.
package org.gradstep;

/** Choices of {@link AccumulatorOptions.Builder#trigger}. */
public enum AccumulationTrigger {
  /** K = steps micro-batches. */
  STEPS(core.TRIGGER_STEPS),
  /** K = the schedule's value at the number of finished windows, rounded to nearest. */
  SCHEDULE(core.TRIGGER_SCHEDULE),
  /** The sum of the adds' weights reaches minWeight; not with meanEach. */
  MIN_WEIGHT(core.TRIGGER_MIN_WEIGHT),
  /** Only {@code gradstep_accumulator_flush} ends a window; not with meanEach. */
  MANUAL(core.TRIGGER_MANUAL);

  final int code;

  AccumulationTrigger(int code) {
    this.code = code;
  }
}
