// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from include/c_api/gradstep.
package org.gradstep;

import java.time.Duration;

/** Options of {@link Communicator}. Immutable. */
public final class CommunicatorOptions extends StructOptions<CommunicatorOptionsStruct> {
  private CommunicatorOptions(Settings<CommunicatorOptionsStruct> given) {
    super(given, CommunicatorOptionsStruct::new);
  }

  /**
   * Begins with the defaults.
   *
   * @return the builder
   */
  public static Builder builder() {
    return new Builder();
  }

  /** Collects options; what is not given has the library's default. */
  public static final class Builder {
    private final Settings<CommunicatorOptionsStruct> settings = new Settings<>();

    private Builder() {}

    /**
     * The options as they are now.
     *
     * @return immutable
     */
    public CommunicatorOptions build() {
      return new CommunicatorOptions(settings);
    }

    /**
     * 0 to worldSize - 1, default 0; -1 = it and worldSize are the launcher's, see create.
     *
     * @param rank the new one
     * @return this
     */
    public Builder rank(int rank) {
      settings.put("rank", rank, struct -> struct.setRank(rank));
      return this;
    }

    /**
     * At least 1, default 1.
     *
     * @param worldSize the new one
     * @return this
     */
    public Builder worldSize(int worldSize) {
      settings.put("worldSize", worldSize, struct -> struct.setWorldSize(worldSize));
      return this;
    }

    /**
     * Default RANK.
     *
     * @param reductionOrder the new one
     * @return this
     */
    public Builder reductionOrder(ReductionOrder reductionOrder) {
      settings.put("reductionOrder", reductionOrder, struct -> struct.setReductionOrder(reductionOrder.code));
      return this;
    }

    /**
     * The limit of every call; above 0, default 30 seconds.
     *
     * @param timeout the new one
     * @return this
     */
    public Builder timeout(Duration timeout) {
      settings.put("timeout", timeout, struct -> struct.setTimeoutMs(timeout.toMillis()));
      return this;
    }

    /**
     * A new number for each communicator made through the same store.
     *
     * @param generation the new one
     * @return this
     */
    public Builder generation(long generation) {
      settings.put("generation", generation, struct -> struct.setGeneration(generation));
      return this;
    }

    /**
     * For nccl: the number of this rank's CUDA device.
     *
     * @param device the new one
     * @return this
     */
    public Builder device(int device) {
      settings.put("device", device, struct -> struct.setDevice(device));
      return this;
    }
  }
}
