// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

/** How elements of several ranks become one. */
public enum ReduceOp {
  /** Their sum. */
  SUM(core.REDUCE_SUM),
  /** The largest. */
  MAX(core.REDUCE_MAX),
  /** The smallest. */
  MIN(core.REDUCE_MIN);

  final int code;

  ReduceOp(int code) {
    this.code = code;
  }

  static ReduceOp of(int code) {
    for (ReduceOp op : values()) {
      if (op.code == code) {
        return op;
      }
    }
    throw new IllegalArgumentException("op: " + code + " is unknown");
  }
}
