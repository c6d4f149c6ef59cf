// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from include/c_api/gradstep.
package org.gradstep;

/** What a sparse mode selects from. */
public enum Selection {
  /** All elements of a bucket together (SINGA). */
  BUCKET(core.SELECTION_BUCKET),
  /** Each parameter by itself. */
  TENSOR(core.SELECTION_TENSOR);

  final int code;

  Selection(int code) {
    this.code = code;
  }
}
