// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from include/c_api/gradstep.
package org.gradstep;

/** Choices of {@link CommunicatorOptions.Builder#reductionOrder}. */
public enum ReductionOrder {
  /** Equal bits on every engine. */
  RANK(core.REDUCTION_RANK),
  /**
   * The engine's own; ranks agree with each other, nothing more. Gloo sums large f32, f64 and integer arrays by a
   * ring, others as RANK.
   */
  ENGINE(core.REDUCTION_ENGINE),
  /**
   * ((host 0) + (host 1) + ...), each host's sum in the order of its ranks: bytes cross the network once for each
   * host. Every engine gives equal bits, as long as the ranks on each host stay. Engines of device memory:
   * UNSUPPORTED.
   */
  HOSTS(core.REDUCTION_HOSTS);

  final int code;

  ReductionOrder(int code) {
    this.code = code;
  }
}
