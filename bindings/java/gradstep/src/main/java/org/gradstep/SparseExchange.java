// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from include/c_api/gradstep.
package org.gradstep;

/** How the selected elements reach the other ranks; the results have the same bits. */
public enum SparseExchange {
  /** Whichever would have sent less for the last window of this bucket. */
  AUTO(core.SPARSE_EXCHANGE_AUTO),
  /** Every rank gets every selection: grows with the number of ranks. */
  GATHER(core.SPARSE_EXCHANGE_GATHER),
  /** Each rank sums its share of the indices, then all get the sums. */
  SPLIT(core.SPARSE_EXCHANGE_SPLIT);

  final int code;

  SparseExchange(int code) {
    this.code = code;
  }
}
