// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from include/c_api/gradstep.
package org.gradstep;

/** How the last exchange of a bucket went. */
public enum ExchangeAlgorithm {
  /** There was none yet, or there is one rank. */
  NONE(core.EXCHANGE_NONE),
  /** A sum of all elements. */
  ALL_REDUCE(core.EXCHANGE_ALL_REDUCE),
  /** Each rank worked on its piece of all ranks' elements. */
  PIECES(core.EXCHANGE_PIECES),
  /** Each rank got all ranks' elements. */
  GATHER(core.EXCHANGE_GATHER),
  /** Each rank got all ranks' selections. */
  SPARSE_GATHER(core.EXCHANGE_SPARSE_GATHER),
  /** Each rank summed its share of the selections. */
  SPARSE_SPLIT(core.EXCHANGE_SPARSE_SPLIT),
  /** All-reduces of low-rank factors. */
  FACTORS(core.EXCHANGE_FACTORS),
  /** Each rank got its slices of the sum ({@code gradstep_optimizer_attach_reducer}). */
  SCATTER(core.EXCHANGE_SCATTER);

  final int code;

  ExchangeAlgorithm(int code) {
    this.code = code;
  }

  static ExchangeAlgorithm of(long code) {
    for (ExchangeAlgorithm each : values()) {
      if (each.code == code) {
        return each;
      }
    }
    throw new IllegalArgumentException("ExchangeAlgorithm: " + code + " is unknown");
  }
}
