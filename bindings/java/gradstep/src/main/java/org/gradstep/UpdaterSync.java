// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from include/c_api/gradstep.
package org.gradstep;

/** Choices of {@link UpdaterOptions.Builder#sync}. */
public enum UpdaterSync {
  /** Reduce gradients, then step: replicas stay equal bit for bit. */
  GRADIENTS(core.SYNC_GRADIENTS),
  /**
   * Each rank steps with its own gradients; every syncSteps-th step one partition of the parameters is averaged, the
   * next one in turn. Partitions are the reducer's buckets. Between two averages replicas differ, and states always
   * do. Source: SINGA DistOpt, backwardAndPartialUpdate.
   */
  PARAMETERS_PARTIAL(core.SYNC_PARAMETERS_PARTIAL),
  /** All parameters at once: local SGD. */
  PARAMETERS(core.SYNC_PARAMETERS),
  /**
   * Each rank steps a copy with its own gradients; what its parameters would change by is reduced, by the reducer's
   * mode, and added: replicas' parameters stay equal bit for bit, states differ. With Adasum this is Horovod's
   * distributed optimizer. With options.outer it is DiLoCo: each rank steps its parameters for a round of syncSteps
   * windows, and nothing travels. Then the point where the round began minus the parameters is reduced, by the
   * reducer's mode and average; the outer optimizer steps that point with it as the gradient, and the result becomes
   * the parameters of all ranks. Source: Douillard et al., arXiv 2311.08105, algorithm 1.
   */
  DELTAS(core.SYNC_DELTAS);

  final int code;

  UpdaterSync(int code) {
    this.code = code;
  }
}
