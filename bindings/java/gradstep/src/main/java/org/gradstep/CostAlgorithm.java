// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from include/c_api/gradstep.
package org.gradstep;

/** Ways of {@link Cost}. */
public enum CostAlgorithm {
  /** gradstep's own collectives. */
  OWN(core.COST_OWN),
  /** All-reduces that an engine or a host may have. a ring: what reduction order ENGINE does over Gloo. */
  RING(core.COST_RING),
  /** Recursive halving and doubling. */
  TREE(core.COST_TREE),
  /** Inside hosts, then between them. */
  HIERARCHICAL(core.COST_HIERARCHICAL),
  /** Exchanges of SPARSE_TOPK, see enum {@code gradstep_sparse_exchange}. All ranks get every selection. */
  SPARSE_GATHER(core.COST_SPARSE_GATHER),
  /** Each rank sums a share. */
  SPARSE_SPLIT(core.COST_SPARSE_SPLIT),
  /** gradstep's own sums by hosts, see enum {@code gradstep_reduction_order}. */
  HOSTS(core.COST_HOSTS);

  final int code;

  CostAlgorithm(int code) {
    this.code = code;
  }

  static CostAlgorithm of(long code) {
    for (CostAlgorithm each : values()) {
      if (each.code == code) {
        return each;
      }
    }
    throw new IllegalArgumentException("CostAlgorithm: " + code + " is unknown");
  }
}
