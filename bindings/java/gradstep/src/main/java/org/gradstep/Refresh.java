// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from include/c_api/gradstep.
package org.gradstep;

/** Choices of {@link ShampooOptions.Builder#refresh}. */
public enum Refresh {
  /** The roots of a step serve in it. */
  FRESH(core.REFRESH_FRESH),
  /** They serve from the next step on, as in Google's sharded mode. */
  STALE(core.REFRESH_STALE);

  final int code;

  Refresh(int code) {
    this.code = code;
  }
}
