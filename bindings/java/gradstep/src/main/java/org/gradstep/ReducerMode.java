// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from include/c_api/gradstep.
package org.gradstep;

/**
 * How the gradients of the ranks become one. Every mode gives all ranks the same bits; and every mode but AUTO,
 * which chooses by measurement, gives the same bits on every engine that sums in the order of ranks.
 * docs/gradient_sync.md says which is for what.
 */
public enum ReducerMode {
  /** Everything. */
  DENSE(core.REDUCER_DENSE),
  /** In f16. */
  HALF(core.REDUCER_HALF),
  /** In bf16. */
  BFLOAT16(core.REDUCER_BFLOAT16),
  /** What is as large as {@code sparsity}. */
  SPARSE_THRESHOLD(core.REDUCER_SPARSE_THRESHOLD),
  /** The largest, a fraction {@code sparsity} of all. */
  SPARSE_TOPK(core.REDUCER_SPARSE_TOPK),
  /** Adasum of pairs. */
  ADASUM_TREE(core.REDUCER_ADASUM_TREE),
  /** Adasum of all ranks at once. */
  ADASUM_NWAY(core.REDUCER_ADASUM_NWAY),
  /** Low-rank factors. */
  POWERSGD(core.REDUCER_POWERSGD),
  /** Whichever is the fastest here, for each bucket. */
  AUTO(core.REDUCER_AUTO),
  /** In codes of 8 bits. */
  INT8(core.REDUCER_INT8),
  /** In integers of 4 bits. */
  INT4(core.REDUCER_INT4),
  /** In floating point of 8 bits, 4 of them the exponent's. */
  FP8_E4M3(core.REDUCER_FP8_E4M3),
  /** In floating point of 8 bits, 5 of them the exponent's. */
  FP8_E5M2(core.REDUCER_FP8_E5M2);

  final int code;

  ReducerMode(int code) {
    this.code = code;
  }

  static ReducerMode of(long code) {
    for (ReducerMode each : values()) {
      if (each.code == code) {
        return each;
      }
    }
    throw new IllegalArgumentException("ReducerMode: " + code + " is unknown");
  }
}
