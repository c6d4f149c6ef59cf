// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from include/c_api/gradstep.
package org.gradstep;

/** Choices of {@link ShampooOptions.Builder#rootPadding}. */
public enum RootPadding {
  /** None. */
  NONE(core.ROOT_PADDING_NONE),
  /** Google: roots are those of statistics extended by 1s to the largest block. */
  LARGEST(core.ROOT_PADDING_LARGEST);

  final int code;

  RootPadding(int code) {
    this.code = code;
  }
}
