// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from include/c_api/gradstep.
package org.gradstep;

/** What the gradients of a sharded step are. */
public enum ShardedGradients {
  /** Each rank's own: the step reduce-scatters them. */
  LOCAL(core.SHARDED_GRADIENTS_LOCAL),
  /** Equal on all ranks already. */
  REDUCED(core.SHARDED_GRADIENTS_REDUCED);

  final int code;

  ShardedGradients(int code) {
    this.code = code;
  }
}
