// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from include/c_api/gradstep.
package org.gradstep;

/** Options of {@link Optimizer#shard}. Immutable. */
public final class ShardingOptions extends StructOptions<ShardingOptionsStruct> {
  private ShardingOptions(Settings<ShardingOptionsStruct> given) {
    super(given, ShardingOptionsStruct::new);
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
    private final Settings<ShardingOptionsStruct> settings = new Settings<>();

    private Builder() {}

    /**
     * The options as they are now.
     *
     * @return immutable
     */
    public ShardingOptions build() {
      return new ShardingOptions(settings);
    }

    /**
     * See {@link ShardedGradients}.
     *
     * @param gradients the new one
     * @return this
     */
    public Builder gradients(ShardedGradients gradients) {
      settings.put("gradients", gradients, struct -> struct.setGradients(gradients.code));
      return this;
    }

    /**
     * LOCAL gradients take SUM or MEAN (UNSET).
     *
     * @param average the new one
     * @return this
     */
    public Builder average(Average average) {
      settings.put("average", average, struct -> struct.setAverage(average.code));
      return this;
    }

    /**
     * See {@link ShardedPreconditioners}.
     *
     * @param preconditioners the new one
     * @return this
     */
    public Builder preconditioners(ShardedPreconditioners preconditioners) {
      settings.put("preconditioners", preconditioners,
          struct -> struct.setPreconditioners(preconditioners.code));
      return this;
    }
  }
}
