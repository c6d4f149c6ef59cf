// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from include/c_api/gradstep.
package org.gradstep;

/** Which axes of the merged tensor are preconditioned. */
public enum OneSided {
  /** All. */
  NONE(core.ONE_SIDED_NONE),
  /** All but the last. */
  INPUT(core.ONE_SIDED_INPUT),
  /** The last. */
  OUTPUT(core.ONE_SIDED_OUTPUT);

  final int code;

  OneSided(int code) {
    this.code = code;
  }
}
