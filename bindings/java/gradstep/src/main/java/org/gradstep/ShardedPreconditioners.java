// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from include/c_api/gradstep.
package org.gradstep;

/** What is dealt out to the ranks of a Shampoo. Other rules do not look at it. */
public enum ShardedPreconditioners {
  /** The roots: each is computed once, and gathered on all ranks. */
  REPLICATED(core.SHARDED_PRECONDITIONERS_REPLICATED),
  /** The blocks: preconditioned gradients are gathered on all ranks. */
  OWNED(core.SHARDED_PRECONDITIONERS_OWNED);

  final int code;

  ShardedPreconditioners(int code) {
    this.code = code;
  }
}
