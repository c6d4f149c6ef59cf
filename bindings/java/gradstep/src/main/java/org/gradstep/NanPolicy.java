// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from include/c_api/gradstep.
package org.gradstep;

/** What a sparse mode does when gradient + residual is NaN. */
public enum NanPolicy {
  /** The window fails with NUMERIC on all ranks, and changes nothing. */
  ERROR(core.NAN_ERROR),
  /** Counts as zero; {@code gradstep_reducer_stats} says how many there were. */
  ZERO(core.NAN_ZERO),
  /** Counts as the largest number there is: it goes out and is seen by all ranks. */
  SEND(core.NAN_SEND);

  final int code;

  NanPolicy(int code) {
    this.code = code;
  }
}
